-- wrk's requests for soak.sh: a mix of what clients send, and a count of what comes back.
--
-- PREFIX is the route's; GOOD a file of tokens, sent in turn; BAD a token that must be refused. Prints
-- "mixed requests socket_failures asked_401 asked_404" and a line "status code count" for each status.
local prefix, good, bad = os.getenv("PREFIX"), os.getenv("GOOD"), os.getenv("BAD")
local tokens, turn, count = {}, 0, 0

statuses, asked_401, asked_404 = "", 0, 0
local seen = {}

local function text(method, path, token, body)
    local headers = { Host = wrk.headers["Host"] }
    if token then headers["Authorization"] = "Bearer " .. token end
    return wrk.format(method, path, headers, body)
end

function init(_)
    for token in io.lines(good) do tokens[#tokens + 1] = token end
end

-- Of 50 requests: 33 small answers, 8 of 10 KB, 1 of 1 MB, 4 uploads, 3 without a good token, 1 without a route.
function request()
    count = count + 1
    turn = turn % #tokens + 1
    local kind, token = count % 50, tokens[turn]
    if kind < 8 then return text("GET", prefix .. "/10k", token) end
    if kind < 9 then return text("GET", prefix .. "/1m", token) end
    if kind < 13 then return text("POST", prefix .. "/upload", token, string.rep("x", 65536)) end
    if kind < 16 then
        asked_401 = asked_401 + 1
        return text("GET", prefix .. "/items", kind == 13 and bad or nil)
    end
    if kind < 17 then
        asked_404 = asked_404 + 1
        return text("GET", "/no-such-route", token)
    end
    return text("GET", prefix .. "/items", token)
end

-- Kept as text: that is what wrk can hand from one thread to another.
function response(status, _, _)
    seen[status] = (seen[status] or 0) + 1
    local lines = {}
    for code, times in pairs(seen) do lines[#lines + 1] = "status " .. code .. " " .. times end
    statuses = table.concat(lines, "\n")
end

local threads = {}
function setup(thread)
    threads[#threads + 1] = thread
end

function done(summary, _, _)
    local errors, thread = summary.errors, threads[1]
    local failures = errors.connect + errors.read + errors.write + errors.timeout
    io.write(string.format("mixed %d %d %d %d\n", summary.requests, failures, thread:get("asked_401"), thread:get("asked_404")))
    io.write(thread:get("statuses"), "\n")
end
