/// The metrics of the gateway: the one list of their names, types, labels and help texts.
///
/// Samples are written through its cases alone, so that `/metrics` and `gatehouse reference` agree.
package enum Metric: String, CaseIterable, Sendable {
    case requests = "gatehouse_requests_total"
    case requestsInFlight = "gatehouse_requests_in_flight"
    case responsesUnsent = "gatehouse_responses_unsent"
    case requestDuration = "gatehouse_request_duration_seconds"
    case denials = "gatehouse_denials_total"
    case directCognitoCalls = "gatehouse_direct_cognito_calls_total"
    case tokenCache = "gatehouse_token_cache_total"

    case connections = "gatehouse_client_connections_total"
    case connectionsOpen = "gatehouse_client_connections_open"
    case connectionsRefused = "gatehouse_client_connections_refused_total"
    case http2ConnectionsFailed = "gatehouse_http2_connections_failed_total"
    case connectionsEvicted = "gatehouse_client_connections_evicted_total"
    case http2Streams = "gatehouse_http2_streams_total"
    case http2StreamsOpen = "gatehouse_http2_streams_open"
    case webSockets = "gatehouse_websockets_total"
    case webSocketsOpen = "gatehouse_websockets_open"
    case bytesReceived = "gatehouse_client_received_bytes_total"
    case bytesSent = "gatehouse_client_sent_bytes_total"

    case upstreamConnectionsOpened = "gatehouse_upstream_connections_opened_total"
    case upstreamConnectionsReused = "gatehouse_upstream_connections_reused_total"
    case upstreamFailures = "gatehouse_upstream_failures_total"
    case upstreamRetries = "gatehouse_upstream_retries_total"
    case upstreamDuration = "gatehouse_upstream_duration_seconds"
    case gatewayDuration = "gatehouse_gateway_duration_seconds"

    case serverRequests = "gatehouse_upstream_server_requests_total"
    case serverFailures = "gatehouse_upstream_server_failures_total"
    case serverEjections = "gatehouse_upstream_server_ejections_total"
    case serverEjectionsWithheld = "gatehouse_upstream_server_ejections_withheld_total"
    case serverUnsolicited = "gatehouse_upstream_server_unsolicited_total"
    case serverRequestsInFlight = "gatehouse_upstream_server_requests_in_flight"
    case serverConnectionsIdle = "gatehouse_upstream_server_connections_idle"
    case serverUp = "gatehouse_upstream_server_up"
    case serverDrained = "gatehouse_upstream_server_drained"
    case serverResponses = "gatehouse_upstream_server_responses_total"
    case serverDuration = "gatehouse_upstream_server_duration_seconds"

    case eventLoopStalls = "gatehouse_event_loop_stalls_total"
    case eventLoopStalled = "gatehouse_event_loop_stalled_seconds_total"
    case nameLookups = "gatehouse_name_lookups_total"

    case keySetRefreshes = "gatehouse_key_set_refreshes_total"
    case keySetFailures = "gatehouse_key_set_failures_total"
    case keySetAge = "gatehouse_key_set_age_seconds"
    case certificateExpiry = "gatehouse_certificate_expires_timestamp_seconds"
    case acmeOrders = "gatehouse_acme_orders_total"
    case acmeFailures = "gatehouse_acme_failures"
    case acmeObtained = "gatehouse_acme_obtained_timestamp_seconds"

    case directCognitoApplications = "gatehouse_direct_cognito_applications_total"
    case accountCalls = "gatehouse_account_calls_total"
    case signIns = "gatehouse_sign_ins_total"
    case sessionLength = "gatehouse_session_length_seconds"
    case userAttributeReads = "gatehouse_user_attribute_reads_total"
    case accountLimits = "gatehouse_account_limits_total"
    case accountLockouts = "gatehouse_account_lockouts_total"
    case outboxWaiting = "gatehouse_outbox_waiting"
    case outboxDelivered = "gatehouse_outbox_delivered_total"
    case outboxFailures = "gatehouse_outbox_failures_total"
    case outboxLost = "gatehouse_outbox_lost_total"

    case revocations = "gatehouse_revocations"
    case revocationsLimit = "gatehouse_revocations_limit"
    case revocationFailures = "gatehouse_revocation_failures_total"
    case supersededSessions = "gatehouse_superseded_sessions"
    case revocationListAge = "gatehouse_revocation_list_age_seconds"
    case revocationListTooOld = "gatehouse_revocation_list_too_old"
    case revocationListNotified = "gatehouse_revocation_list_notified"
    case assertionKeyAge = "gatehouse_assertion_key_age_seconds"
    case keysReadable = "gatehouse_keys_readable"

    case configReloads = "gatehouse_config_reloads_total"
    case configLastReloadSuccessful = "gatehouse_config_last_reload_successful"
    case configLastSuccess = "gatehouse_config_last_success_timestamp_seconds"
    case fileChanges = "gatehouse_file_changes_total"
    case filesKeptOut = "gatehouse_files_refused"

    case logLinesLost = "gatehouse_log_lines_lost_total"
    case spansExported = "gatehouse_spans_exported_total"
    case spansLost = "gatehouse_spans_lost_total"
    case storeWritable = "gatehouse_store_writable"
    case storeConnectionsOpen = "gatehouse_store_connections_open"
    case storeConnectionsIdle = "gatehouse_store_connections_idle"
    case storeConnectionsMade = "gatehouse_store_connections_made_total"
    case storeConnectionsFailed = "gatehouse_store_connections_failed_total"
    case storeCallersWaiting = "gatehouse_store_callers_waiting"
    case storeStatementDuration = "gatehouse_store_statement_duration_seconds"
    case storeErrors = "gatehouse_store_errors_total"
    case replicas = "gatehouse_replicas"
    case ready = "gatehouse_ready"
    case draining = "gatehouse_draining"
    case buildInfo = "gatehouse_build_info"

    case processCPU = "process_cpu_seconds_total"
    case processResidentMemory = "process_resident_memory_bytes"
    case processAnonymousMemory = "process_anonymous_memory_bytes"
    case processVirtualMemory = "process_virtual_memory_bytes"
    case processOpenDescriptors = "process_open_fds"
    case processMaximumDescriptors = "process_max_fds"
    case processStart = "process_start_time_seconds"

    /// Prometheus' types of metrics that there are here.
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    package var name: String { rawValue }
}
