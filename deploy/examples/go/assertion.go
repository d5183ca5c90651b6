package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"
)

var (
	// ErrInvalid says that an assertion is not one of this gateway's for this service, or has expired.
	ErrInvalid = errors.New("invalid assertion")
	// ErrKeysUnavailable says that the gateway's key set could not be fetched.
	ErrKeysUnavailable = errors.New("the key set cannot be fetched")
)

const tolerance = 5 * time.Second

// Claims are what an assertion says of a caller.
type Claims struct {
	Issuer   string   `json:"iss"`
	Audience string   `json:"aud"`
	Subject  string   `json:"sub"`
	Groups   []string `json:"groups"`
	IssuedAt int64    `json:"iat"`
	Expires  int64    `json:"exp"`
}

// Verifier verifies the assertions of one gateway for one service.
type Verifier struct {
	Issuer, Audience string
	Keys             KeySet
}

// Verify returns the claims of an assertion: a JWS in compact form (RFC 7515, 7.1), signed with ES256.
func (verifier *Verifier) Verify(assertion string) (*Claims, error) {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return nil, ErrInvalid
	}
	var header struct{ Alg, Typ, Kid string }
	if decode(parts[0], &header) != nil || header.Alg != "ES256" || header.Typ != "gatehouse-assertion+jwt" {
		return nil, ErrInvalid
	}
	key, err := verifier.Keys.Key(header.Kid)
	if err != nil {
		return nil, err
	}
	// RFC 7518, 3.4: two numbers of 32 bytes each.
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		return nil, ErrInvalid
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
	if !ecdsa.Verify(key, digest[:], r, s) {
		return nil, ErrInvalid
	}
	claims := &Claims{}
	if decode(parts[1], claims) != nil || claims.Issuer != verifier.Issuer || claims.Audience != verifier.Audience {
		return nil, ErrInvalid
	}
	now := time.Now()
	isCurrent := now.Add(tolerance).Unix() >= claims.IssuedAt && now.Add(-tolerance).Unix() < claims.Expires
	if claims.Subject == "" || !isCurrent {
		return nil, ErrInvalid
	}
	return claims, nil
}

func decode(part string, value any) error {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, value)
}

// KeySet is the gateway's, cached for five minutes. An unknown key causes a fetch, at most every 30 seconds. After a
// fetch that has failed there is none for a second.
type KeySet struct {
	URL string

	mutex           sync.Mutex
	keys            map[string]*ecdsa.PublicKey
	fetched, failed time.Time
}

// Key returns the public key of this id.
func (set *KeySet) Key(id string) (*ecdsa.PublicKey, error) {
	set.mutex.Lock()
	defer set.mutex.Unlock()
	age := time.Since(set.fetched)
	key := set.keys[id]
	if key == nil && age > 30*time.Second || age > 5*time.Minute {
		if time.Since(set.failed) < time.Second {
			return nil, ErrKeysUnavailable
		}
		keys, err := fetch(set.URL)
		if err != nil {
			set.failed = time.Now()
			return nil, fmt.Errorf("%w: %v", ErrKeysUnavailable, err)
		}
		set.keys, set.fetched = keys, time.Now()
		key = keys[id]
	}
	if key == nil {
		return nil, ErrInvalid
	}
	return key, nil
}

var client = http.Client{Timeout: 5 * time.Second}

// fetch returns the keys of a JSON Web Key Set (RFC 7517) that are for ES256, by their ids.
func fetch(url string) (map[string]*ecdsa.PublicKey, error) {
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s", response.Status)
	}
	var set struct {
		Keys []struct{ Kty, Crv, Alg, Kid, X, Y string }
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, response.Body, 1<<20)).Decode(&set); err != nil {
		return nil, err
	}
	keys := map[string]*ecdsa.PublicKey{}
	for _, key := range set.Keys {
		x, errX := base64.RawURLEncoding.DecodeString(key.X)
		y, errY := base64.RawURLEncoding.DecodeString(key.Y)
		if key.Kty != "EC" || key.Crv != "P-256" || key.Alg != "ES256" || errX != nil || errY != nil {
			continue
		}
		keys[key.Kid] = &ecdsa.PublicKey{
			Curve: elliptic.P256(), X: new(big.Int).SetBytes(x), Y: new(big.Int).SetBytes(y),
		}
	}
	return keys, nil
}
