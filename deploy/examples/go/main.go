// The smallest Go service behind Gatehouse: it reads the identity headers and verifies the assertion, with the standard
// library alone.
//
//	GATEHOUSE_URL=http://127.0.0.1:8080 PORT=8000 go run .
//
// The gateway needs `identity: {assertion: {issuer: https://api.example.com}}` and an upstream called `api`.
package main

import (
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// setting returns an environment variable, or its default.
func setting(name, standard string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return standard
}

// whoami responds with the caller by the headers, which are good only where nobody reaches this port around the
// gateway.
func whoami(response http.ResponseWriter, request *http.Request) {
	subject, err := url.PathUnescape(request.Header.Get("X-Auth-Subject"))
	if subject == "" || err != nil {
		http.Error(response, "no identity", http.StatusUnauthorized)
		return
	}
	groups := []string{}
	for _, encoded := range strings.Split(request.Header.Get("X-Auth-Groups"), ",") {
		if group, err := url.PathUnescape(encoded); err == nil && group != "" {
			groups = append(groups, group)
		}
	}
	respond(response, map[string]any{"subject": subject, "groups": groups})
}

// orders responds with the caller by the assertion alone, which nobody but the gateway can make.
func orders(verifier *Verifier) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		caller, err := verifier.Verify(request.Header.Get("X-Auth-Assertion"))
		switch {
		case errors.Is(err, ErrKeysUnavailable):
			http.Error(response, "no key set", http.StatusServiceUnavailable)
		case err != nil:
			http.Error(response, "no valid assertion", http.StatusUnauthorized)
		default:
			respond(response, map[string]any{"orders_of": caller.Subject, "groups": caller.Groups})
		}
	}
}

func respond(response http.ResponseWriter, value any) {
	response.Header().Set("Content-Type", "application/json")
	json.NewEncoder(response).Encode(value)
}

func main() {
	verifier := &Verifier{
		Issuer:   setting("GATEHOUSE_ISSUER", "https://api.example.com"),
		Audience: setting("GATEHOUSE_AUDIENCE", "api"),
		Keys:     KeySet{URL: setting("GATEHOUSE_URL", "http://127.0.0.1:8080") + "/.well-known/gatehouse/jwks.json"},
	}
	http.HandleFunc("/api/v1/whoami", whoami)
	http.HandleFunc("/api/v1/orders", orders(verifier))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+setting("PORT", "8000"), nil))
}
