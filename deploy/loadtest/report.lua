-- wrk's figures in one line for run.sh: requests, failures, seconds, then latency at 50 % and 99 % in microseconds.
function done(summary, latency, _)
    local errors = summary.errors
    local failures = errors.connect + errors.read + errors.write + errors.timeout + errors.status
    io.write(string.format("figures %d %d %.3f %d %d\n", summary.requests, failures, summary.duration / 1e6,
        latency:percentile(50), latency:percentile(99)))
end
