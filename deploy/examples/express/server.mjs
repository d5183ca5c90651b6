// The smallest Express service behind Gatehouse: it reads the identity headers and verifies the assertion.
//
//     npm install
//     GATEHOUSE_URL=http://127.0.0.1:8080 PORT=8000 node server.mjs
//
// The gateway needs `identity: {assertion: {issuer: https://api.example.com}}` and an upstream called `api`. Express
// ignores the case of paths, so that upstream needs `paths: case_insensitive`.

import express from "express";
import { createRemoteJWKSet, errors, jwtVerify } from "jose";

// The gateway's address for this service, the `iss` of its assertions, and their `aud`: the name of the upstream.
const gateway = process.env.GATEHOUSE_URL ?? "http://127.0.0.1:8080";
const issuer = process.env.GATEHOUSE_ISSUER ?? "https://api.example.com";
const audience = process.env.GATEHOUSE_AUDIENCE ?? "api";

// Cached for five minutes. An unknown key causes a fetch, at most every 30 seconds.
const keys = createRemoteJWKSet(new URL("/.well-known/gatehouse/jwks.json", gateway), {
  cacheMaxAge: 300_000,
  cooldownDuration: 30_000,
});

const app = express();

// The caller by the headers, which are good only where nobody reaches this port around the gateway.
app.get("/api/v1/whoami", (request, response) => {
  const subject = request.get("X-Auth-Subject");
  if (!subject) return response.status(401).end();
  const groups = (request.get("X-Auth-Groups") ?? "").split(",").filter(Boolean).map(decodeURIComponent);
  response.json({ subject: decodeURIComponent(subject), groups });
});

// The caller by the assertion alone, which nobody but the gateway can make.
app.get("/api/v1/orders", async (request, response) => {
  let caller;
  try {
    const verified = await jwtVerify(request.get("X-Auth-Assertion") ?? "", keys, {
      algorithms: ["ES256"],
      typ: "gatehouse-assertion+jwt",
      issuer,
      audience,
      clockTolerance: 5,
    });
    caller = verified.payload;
  } catch (error) {
    // Whatever is wrong with the assertion has a code of its own; the rest is a key set that could not be fetched.
    const isUnavailable = ["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT"].includes(error.code);
    return response.status(error instanceof errors.JOSEError && !isUnavailable ? 401 : 503).end();
  }
  if (!caller.sub || !caller.exp) return response.status(401).end();
  response.json({ orders_of: caller.sub, groups: caller.groups });
});

app.listen(process.env.PORT ?? 8000, "127.0.0.1");
