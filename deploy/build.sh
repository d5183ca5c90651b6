#!/usr/bin/env bash
# Builds the release binary: .build/release/gatehouse. Every release build has these flags. SwiftPM does not
# compile anew for options of the frontend, such as the profile: what was compiled without it stays so until its sources
# change or .build is removed.
#
#   deploy/build.sh [PRODUCT]      default: gatehouse
#
# With Swift's runtime inside, the binary runs where no Swift is installed, and calls into the runtime, of which each request
# makes hundreds, are cheaper: about 5 % of a request's CPU. A profile of what gateways do most saves as much again
# (deploy/release/profile.sh). Debug information, which releases are stripped of, would take about an eighth more time to
# build.
set -euo pipefail
# The profile's path is relative to it.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec swift build -c release --static-swift-stdlib -debug-info-format none --toolset deploy/release/toolset.json \
    --product "${1:-gatehouse}"
