# Sourced by soak.sh: what goes wrong around the gateway, other than its backends.
# shellcheck shell=bash
# shellcheck disable=SC2154 # the ports, work, names, cycle and the functions are those of soak.sh

failures=(failing slow hanging refusing)

# receivers_fail: two of the four ways, others in each cycle.
receivers_fail() {
    audit_mode=${failures[cycle % 4]}
    users_mode=${failures[(cycle + 1 + cycle / 4) % 4]}
    set_peers "audit/$audit_mode" "users/$users_mode"
}

# Words for `now`: whether the clock is wrong, and whether the pool is away.
wrong_clock='' away=''

# clock SECONDS: the gateway's time of day is wrong by so many from now on; 0: it is right. The apps know a second before.
clock() {
    wrong_clock=clock
    now "$wrong_clock" "$away"
    sleep 1
    set_peers "clock/$1"
    sleep 1.5
    [ "$1" != 0 ] || wrong_clock=''
    now "$wrong_clock" "$away"
}

# provider_goes SIGNAL, provider_comes: the local pool, which keeps its users and tokens in its file.
provider_goes() {
    away="provider-away"
    now "$wrong_clock" "$away"
    stop pool "$1"
}

provider_comes() {
    start_pool
    away=''
    now "$wrong_clock"
}

# impatient SECONDS: clients that go away while the name of their upstream is looked up, one after the other; then one that
# stays, and gets 504 when the time to connect is over.
impatient() {
    local url=http://127.0.0.1:${port[gatehouse]}/unknown until=$((SECONDS + $1)) status
    while [ $SECONDS -lt $until ]; do get -m 0.2 -o /dev/null "$url" || true; done
    status=$(status_of "$url")
    [ "$status" = 504 ] || problem "an upstream whose name server is silent: $status"
}

# fetches: how often each key set was fetched, "name{issuer} count" to a line.
fetches() { get "http://127.0.0.1:$admin_port/metrics" | grep '^gatehouse_key_set_refreshes_total' | grep -Ev 'fill|sessions'; }

# keys_recover: their servers are well, and each key set is fetched again.
keys_recover() {
    local before tries
    set_peers keys/well
    before=$(fetches)
    for ((tries = 0; tries < 100; tries++)); do
        paste -d ' ' <(echo "$before") <(fetches) | awk '$4 <= $2 { exit 1 }' && return
        sleep 0.1
    done
    problem "a key set was not fetched again"
}

# elsewhere: the name server, the clock, the key sets and the local pool, under load that needs none of them just then.
#
# Key sets can be fetched while the clock is ahead: one that cannot, and is too old by the clock, is not trusted
# (key_sets.stale_limit).
elsewhere() {
    local jobs=() signal=TERM
    ((cycle % 2)) || signal=KILL
    keys_mode=${failures[(cycle + 2) % 4]}
    mixed /api 14 & jobs+=($!)
    mixed /other 14 & jobs+=($!)
    mixed /named 14 & jobs+=($!)
    sleep 0.5 # until the name has been found
    set_peers names/silent "keys/$keys_mode"
    [ "$names" = none ] || { impatient 8 & jobs+=($!); }
    ((cycle % 2)) || clock -7200
    provider_goes "$signal"
    reload
    sleep 1
    provider_comes
    keys_recover
    clock -7200
    clock 3456000
    clock 0
    wait "${jobs[@]}" || problem "a load generator failed"
    set_peers names/well
    judge /api yes
    judge /other yes
    judge /named yes
}

# all_received: the receivers are well, and an hour, which is the longest that a message waits for another attempt, passes
# for the gateway; then nothing is left to be sent, and the backend has been told of every sign-in. As long as there are
# fewer and fewer, they may take their time.
all_received() {
    local tries waiting='' least=1000000 lost told
    set_peers clock/7200
    for ((tries = 0; tries < 300; tries++)); do
        waiting=$(metric gatehouse_outbox_waiting)
        [ "$waiting" = 0 ] && break
        ((waiting >= least)) || least=$waiting tries=0
        sleep 0.1
    done
    set_peers clock/0
    [ "$waiting" = 0 ] || problem "$waiting messages are left although the receivers are well"
    lost=$(metric gatehouse_outbox_lost_total)
    [ "$lost" = 0 ] || problem "$lost messages are lost"
    get "http://127.0.0.1:$control_port/" >"$work/received"
    told=$(count_of users "$work/received")
    ((told >= $(count_of sign-ins "$work/counts"))) ||
        problem "the backend was told of $told sign-ins, of $(count_of sign-ins "$work/counts")"
    [ "$names" = none ] || (($(count_of questions "$work/received") > 0)) || problem "nobody asked the name server"
}
