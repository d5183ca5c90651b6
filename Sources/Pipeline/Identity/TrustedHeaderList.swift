/// The headers of ``TrustedHeader``, grouped by meaning and by the software that reads them.
///
/// The sources are the code and documentation of that software. A name is in its normalised form, so that it also
/// matches `Script_Name` and `script.name`; a `*` at the end matches every name with that prefix. Headers that clients
/// legitimately send are left out: credentials such as `X-Access-Token`, signed tokens, trace identifiers, languages.
enum TrustedHeaderList {
    typealias Group = (meaning: TrustedHeader.Meaning, readers: String, names: String)

    static let groups: [Group] = paths + hosts + schemes + methods + addresses + identities + redirects

    private static let paths: [Group] = [
        (.path, "gunicorn, mod_wsgi, Paste and CGI variables", "script-name path-info path-translated query-string"),
        (.path, "mod_wsgi, Flask's ReverseProxied recipes, Airflow, Superset", "x-script-name x-script-url"),
        (.path, "Daphne (root_path of ASGI)", "daphne-root-path root-path x-root-path"),
        (
            .path, "CGI variables of PHP, lighttpd, Apache and IIS",
            """
            script-filename script-url script-uri request-uri request-url document-uri document-root php-self \
            orig-path-info orig-script-name php-value php-admin-value redirect-url redirect-uri redirect-query-string
            """
        ),
        (.path, "Symfony, Zend, Laminas, Yii and Laravel on IIS", "unencoded-url iis-wasurlrewritten x-rewrite-*"),
        (.path, "Symfony, Zend, Laminas, ASP.NET, nginx's auth_request, Envoy's filters", "x-original-*"),
        (.path, "Azure App Service and Static Web Apps, iisnode", "x-waws-unencoded-url x-ms-original-url x-iisnode-*"),
        (.path, "Envoy, Istio", "x-envoy-original-path"),
        (.path, "Traefik's ReplacePath", "x-replaced-path"),
        (.path, "Cloud Foundry's route services", "x-cf-forwarded-url x-cf-proxy-signature x-cf-proxy-metadata"),
        (.path, "Zope and Plone (repoze.vhm)", "x-vhm-root"),
        (.path, "Home Assistant, applications behind its ingress", "x-ingress-path"),
        (.path, "Spring Cloud Function (the function that runs)", "spring-cloud-function-*"),
        (.path, "Lambda adapters, serverless-express", "x-apigateway-event x-apigateway-context"),
        (.path, "Next.js (the page that is rendered)", "x-matched-path x-now-route-matches x-invoke-*"),
        (.path, "WebDAV servers (the path that COPY and MOVE write to)", "destination"),
        (
            .path, "in-house gateways, as lists of known bypasses have it",
            "x-proxy-url x-http-destinationurl x-request-uri x-request-url x-forwarded-prefix x-forwarded-path"
        ),
    ]

    private static let hosts: [Group] = [
        (.host, "Drupal, Joomla, Laravel and frameworks with host overrides", "x-host x-host-override"),
        (.host, "caches and frameworks with host overrides", "x-http-host-override forwarded-host"),
        (.host, "Zope and Plone (repoze.vhm)", "x-vhm-host"),
        (.host, "Fastly", "fastly-orig-host"),
        (.host, "Linkerd in ingress mode (the service that gets the request)", "l5d-dst-override"),
        (.host, "CGI variables of PHP, WSGI and Rack", "server-name server-port server-protocol"),
    ]

    private static let schemes: [Group] = [
        (.scheme, "Tornado, Sanic, mod_wsgi, Flask's ReverseProxied recipes", "x-scheme x-url-scheme x-https"),
        (.scheme, "PHP, WordPress and Rack (HTTPS=on)", "https request-scheme"),
        (.scheme, "Microsoft's proxies, Rails, WordPress", "front-end-https x-arr-ssl"),
        (.scheme, "Rails, Django and Tomcat's SSLValve settings", "x-ssl x-ssl-*"),
        (.scheme, "Cloudflare, CloudFront, Fastly", "cf-visitor cloudfront-forwarded-proto fastly-ssl"),
        (.scheme, "frameworks that take the names without x-", "forwarded-proto forwarded-port"),
    ]

    private static let methods: [Group] = [
        (
            .method, "Rails, Symfony, Laravel, Express, Spring, ASP.NET, OData and Google APIs",
            "x-http-method x-http-method-override x-method-override method-override"
        ),
        (.method, "CGI variables of PHP, WSGI and Rack", "request-method redirect-request-method"),
        (.method, "Rest.li", "x-restli-method"),
    ]

    private static let addresses: [Group] = [
        (
            .clientAddress, "Rails, PHP and Java frameworks, request-ip, lists of limiters",
            """
            client-ip x-client-ip x-clientip x-client-addr x-real-ip real-ip real-client-ip x-real-client-ip \
            x-originating-ip x-source-ip x-custom-ip-authorization x-true-ip x-coming-from forwarded-for \
            forwarded-for-ip forwarded x-proxyuser-ip
            """
        ),
        (
            .clientAddress, "every framework that counts proxies: Express, Rails, Spring, Symfony, ASP.NET",
            "x-forwarded* x-forward-* x-forwarder-*"
        ),
        (.clientAddress, "Akamai, Cloudflare Enterprise, F5", "true-client-ip x-true-client-ip"),
        (.clientAddress, "Rackspace, Zeus, Riverbed", "x-cluster-client-ip cluster-client-ip"),
        (.clientAddress, "Cloudflare", "cf-connecting-* cf-pseudo-ipv4"),
        (.clientAddress, "Fastly", "fastly-client-ip fastly-client fastly-temp-xff"),
        (.clientAddress, "CloudFront", "cloudfront-viewer-address"),
        (.clientAddress, "Azure's Front Door and Application Gateway", "x-azure-*"),
        (.clientAddress, "Google's App Engine", "x-appengine-user-ip"),
        (.clientAddress, "Fly.io, Vercel, Netlify, DigitalOcean", fly),
        (.clientAddress, "Imperva, Sucuri, Alibaba and Tencent CDNs", cdns),
        (.clientAddress, "Apache's mod_remoteip, PHP and CGI variables", "x-remote-ip x-remote-addr x-remote-host"),
        (.clientAddress, "WebLogic and Oracle HTTP Server", "wl-proxy-client-ip proxy-client-ip"),
        (.clientAddress, "Envoy, Istio", "x-envoy-external-address x-envoy-internal"),
        (.clientAddress, "lists of known bypasses", "x-proxy-host proxy-*"),
    ]

    private static let fly = """
        fly-client-ip fly-forwarded-* x-vercel-forwarded-for x-vercel-proxied-for x-nf-client-connection-ip \
        do-connecting-ip
        """
    private static let cdns = """
        incap-client-ip x-sucuri-clientip x-sucuri-client-ip ali-cdn-real-ip cdn-real-ip cdn-src-ip x-cdn-src-ip
        """

    private static let identities: [Group] = [
        (
            .identity, "CGI variables: Django's and Flask's REMOTE_USER, Authelia, Authentik, Caddy, Traefik",
            "remote-* auth-type auth-user authenticate-* redirect-remote-user x-remote-* php-auth-*"
        ),
        (.identity, "oauth2-proxy, nginx's auth_request", "x-auth-request-* gap-auth gap-signature"),
        (.identity, "PHP and WSGI, to which the prefix of their variables is HTTP_", "http-*"),
        (
            .identity, "Apache's mod_ssl, nginx, Tomcat's SSLValve, HAProxy (client certificates)",
            """
            ssl-* x-ssl-client-* x-client-cert* x-client-dn x-client-verify x-client-ssl-* x-tls-client-* client-cert \
            client-cert-chain x-arr-clientcert
            """
        ),
        (.identity, "AWS load balancers", "x-amzn-oidc-* x-amzn-mtls-*"),
        (.identity, "AWS Lambda Web Adapter", "x-amzn-request-context x-amzn-lambda-context"),
        (.identity, "Azure App Service, Static Web Apps and IIS", azure),
        (.identity, "Google's IAP, App Engine, ESP and API Gateway", google),
        (.identity, "Cloudflare Access", "cf-access-*"),
        (.identity, "Tailscale Serve", "tailscale-*"),
        (.identity, "Kubernetes' API server and aggregated ones", "impersonate-*"),
        (.identity, "Kong", "x-consumer-* x-credential-* x-authenticated-* x-anonymous-consumer x-userinfo"),
        (.identity, "Authentik, Vouch, Pomerium, Authelia", "x-authentik-* x-vouch-* x-pomerium-* x-authelia-*"),
        (.identity, "Caddy's security plugin", "x-token-subject x-token-user-*"),
        (.identity, "Grafana, Nexus, OpenSearch, Elasticsearch", grafana),
        (.identity, "RStudio, Shiny, Kubeflow, Teleport, WSO2", others),
        (.identity, "mod_auth_openidc, mod_auth_mellon", "oidc-* mellon-*"),
        (.identity, "Shibboleth", "shib-* x-shib-* ajp-* eppn"),
        (.identity, "SiteMinder, WebSEAL, Oracle Access Manager", "sm-* smuser iv-* oam-* osso-*"),
        (.identity, "WebSphere's plug-in ($WSRU, $WSCC, $WSRA …)", "-ws*"),
        (.identity, "WebLogic and Oracle HTTP Server", "wl-proxy-* x-weblogic-*"),
        (.identity, "Phusion Passenger (secure headers, !~…)", "--*"),
        (.identity, "grpc-gateway (metadata of any name, such as x-auth-subject)", "grpc-metadata-*"),
        (.identity, "httpoxy: HTTP_PROXY of CGI, PHP and Go", "proxy"),
    ]

    private static let azure = """
        x-ms-client-principal* x-ms-token-* x-ms-auth-internal-token ms-aspnetcore-* logon-user cert-subject cert-issuer
        """
    private static let google = """
        x-goog-authenticated-user-* x-goog-iap-* x-appengine-* x-endpoint-api-userinfo x-apigateway-api-userinfo
        """
    private static let grafana = """
        x-webauth-* x-sso-user x-proxy-user x-proxy-roles es-security-runas-user
        """
    private static let others = """
        x-rstudio-username rstudio-connect-credentials shiny-server-credentials kubeflow-userid teleport-jwt-assertion \
        x-jwt-assertion
        """

    private static let redirects: [Group] = [
        (.internalRedirect, "nginx, and Rack::Sendfile (X-Accel-Mapping)", "x-accel-*"),
        (.internalRedirect, "Apache, lighttpd, and Rack::Sendfile (X-Sendfile-Type)", "x-sendfile*"),
        (.internalRedirect, "lighttpd, LiteSpeed, Perlbal", "x-lighttpd-* x-litespeed-* x-reproxy-*"),
        (.internalRedirect, "Envoy, Istio", "x-envoy-* x-istio-*"),
        (
            .internalRedirect, "Next.js (middleware, and with it its checks, is skipped, or the response replaced)",
            """
            x-middleware-subrequest* x-middleware-rewrite x-middleware-redirect x-middleware-next x-middleware-skip \
            x-middleware-override-headers x-middleware-request-* x-middleware-set-cookie x-middleware-invoke \
            x-nextjs-rewrite
            """
        ),
        (.internalRedirect, "Apache and PHP (REDIRECT_STATUS)", "redirect-* gateway-interface"),
    ]
}
