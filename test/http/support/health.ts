import type { HealthParts } from '../../../src/http/service-health.ts';

const at = '2026-05-17T12:00:00.000Z';
const unused = async () => ({ facts: null, problems: [] });

/** Healthy state of each part of a service. */
export const HEALTHY: HealthParts = {
  process: async () => ({
    facts: {
      version: '1.0.0',
      roles: ['api', 'projections', 'workers'],
      uptime_seconds: 3600,
      memory_bytes: 200_000_000,
      event_loop_delay_ms: { mean: 0.2, max: 12 },
      is_leader: true,
    },
    problems: [],
  }),
  instances: async () => ({
    facts: {
      data: [{ name: 'host:1', version: '1.0.0', roles: ['api', 'projections', 'workers'], connected_since: at }],
    },
    problems: [],
  }),
  log: async () => ({
    facts: {
      engine: 'postgresql',
      position: '0000000000000000042',
      appends_per_minute: 3,
      append_ms: { p50: 2, p99: 9 },
    },
    problems: [],
  }),
  read_models: async () => ({
    facts: {
      data: [{ name: 'messages', events_behind: 0, seconds_behind: 0, parked_events: 0, is_rebuilding: false }],
    },
    problems: [],
  }),
  queues: async () => ({
    facts: {
      data: [{ name: 'due_mail', waiting: 0, active: null, oldest_seconds: 0 }],
      scheduled: 0,
      deferred: 0,
      held: 0,
    },
    problems: [],
  }),
  rates: async () => ({ facts: { accepted_per_minute: 2, delivered_per_minute: 2, window_seconds: 60 }, problems: [] }),
  database: async () => ({
    facts: { version: '18.4', size_bytes: 9_000_000, connections: 12, connections_max: 150, latency_ms: 0.4 },
    problems: [],
  }),
  redis: unused,
  mail: async () => ({ facts: { kind: 'capture', smarthost: null, checked_at: at }, problems: [] }),
  disk: async () => ({ facts: { free_bytes: 5e9, size_bytes: 1e10 }, problems: [] }),
  audit: async () => ({
    facts: { checked_at: at, verdict: 'no fault', faults: 0, logs_disputed: 0, logs_foreign: 0 },
    problems: [],
  }),
  backup: unused,
};
