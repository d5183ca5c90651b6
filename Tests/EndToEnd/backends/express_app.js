// The resources of flask_app.py by Express, which believes its proxy, and has routes that ignore case as it does unless
// it is told otherwise.
"use strict";
const express = require("express");
const app = express();
app.set("trust proxy", true);

function told(resource) {
  return (request, response) => {
    response.status(resource === "none" ? 404 : 200).json({
      resource: resource.replace("{owner}", request.params.owner), method: request.method, host: request.hostname,
      scheme: request.protocol, client: request.ip, user: request.get("Remote-User") || null,
    });
  };
}

app.all("/gu/staff/(.*)", told("staff"));
app.all("/gu/(.*)", told("gu"));
app.all("/admin/(.*)", told("admin"));
app.all("/users/:owner/(.*)", told("user {owner}"));
app.use(told("none"));
app.listen(Number(process.env.PORT), "127.0.0.1");
