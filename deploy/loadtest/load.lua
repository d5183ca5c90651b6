-- wrk's requests and, in one line, its figures: "figures requests failures seconds p50 p99", latency in microseconds.
--
-- Without environment wrk sends what its command line says. TOKENS names a file of bearer tokens, one to a line, that
-- are sent in turn; with ONCE=1 the run ends when the last was sent. UPLOAD=n posts n bytes. CLOSE=1 opens a connection
-- for each request.
local ffi = require("ffi")
ffi.cdef("typedef struct { long seconds, nanoseconds; } moment; int clock_gettime(int clock, moment *now);")

local monotonic = 1
local function now()
    local moment = ffi.new("moment")
    ffi.C.clock_gettime(monotonic, moment)
    return tonumber(moment.seconds) + tonumber(moment.nanoseconds) / 1e9
end

local upload = tonumber(os.getenv("UPLOAD") or "")
if upload then
    wrk.method = "POST"
    wrk.body = string.rep("x", upload)
    wrk.headers["Content-Type"] = "application/octet-stream"
end

if os.getenv("CLOSE") == "1" then wrk.headers["Connection"] = "close" end

local tokens = os.getenv("TOKENS")
local once = os.getenv("ONCE") == "1"
local requests, next_request = {}, 1

-- When tokens are sent once: the seconds until the last was sent; nil while some are left.
spent = nil

if tokens then
    local began

    function init(_)
        for token in io.lines(tokens) do
            requests[#requests + 1] = wrk.format(nil, nil, { Host = wrk.headers["Host"], Authorization = "Bearer " .. token })
        end
    end

    function request()
        -- wrk asks for one request before it starts, to look at it.
        if next_request == 2 then began = began or now() end
        local text = requests[next_request]
        next_request = next_request + 1
        if next_request > #requests then
            next_request = 1
            if once then
                spent = now() - began
                wrk.thread:stop()
            end
        end
        return text
    end
end

local threads = {}
function setup(thread)
    threads[#threads + 1] = thread
end

function done(summary, latency, _)
    local errors = summary.errors
    local failures = errors.connect + errors.read + errors.write + errors.timeout + errors.status
    if failures > 0 then
        io.stderr:write(string.format("wrk: %d connects, %d reads, %d writes, %d time-outs and %d statuses failed\n",
            errors.connect, errors.read, errors.write, errors.timeout, errors.status))
    end
    local seconds = threads[1]:get("spent") or summary.duration / 1e6
    io.write(string.format("figures %d %d %.3f %d %d\n", summary.requests, failures, seconds,
        latency:percentile(50), latency:percentile(99)))
end
