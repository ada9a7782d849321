import type { Measure } from '../harness/bench.ts';
import { accept } from './accept.ts';
import { allocations } from './allocations.ts';
import { append } from './append.ts';
import { batch } from './batch.ts';
import { catchUp } from './catch-up.ts';
import { contentRoots } from './content-roots.ts';
import { crashes } from './crash.ts';
import { endToEnd } from './end-to-end.ts';
import { endToEndRedis } from './end-to-end-redis.ts';
import { eventStreams } from './event-streams.ts';
import { eventStoreDb } from './eventstoredb.ts';
import { growth, growthLarge } from './growth.ts';
import { inbound } from './inbound.ts';
import { isolation, isolationLarge } from './isolation.ts';
import { keyCheck } from './key-check.ts';
import { lag } from './lag.ts';
import { latency } from './latency.ts';
import { peers } from './peers.ts';
import { processes } from './processes.ts';
import { readLog } from './read-log.ts';
import { auditTrees, rebuildAll, rebuildLarge } from './rebuild.ts';
import { redirect } from './redirect.ts';
import { retention } from './retention.ts';
import { soak } from './soak.ts';
import { starts } from './starts.ts';
import { statistics } from './statistics.ts';
import { storage } from './storage.ts';
import { templates } from './templates.ts';
import { webhookFairness } from './webhook-fairness.ts';
import { webhooks } from './webhooks.ts';

/** Measurements of every run, in order. */
export const IN_EVERY_RUN: readonly Measure[] = [
  accept,
  batch,
  templates,
  append,
  readLog,
  rebuildAll,
  keyCheck,
  contentRoots,
  redirect,
  statistics,
  allocations,
  endToEnd,
  endToEndRedis,
  latency,
  webhooks,
  eventStreams,
  lag,
  catchUp,
];

/** Measurements that take long or need other programs, run only by name. */
export const BY_NAME: readonly Measure[] = [
  eventStoreDb,
  rebuildLarge,
  auditTrees,
  processes,
  starts,
  crashes,
  growth,
  growthLarge,
  soak,
  storage,
  retention,
  peers,
  inbound,
  isolation,
  isolationLarge,
  webhookFairness,
];
