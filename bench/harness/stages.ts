import type { HeapProfiler, Profiler } from 'node:inspector/promises';
import { PROJECTIONS } from '../../src/projections/all.ts';

/**
 * Sums a CPU profile of the service by stage, to locate regressions. A sample belongs to the stage of its innermost
 * frame that has one, so shared code (digests, canonical JSON, zod, timers) is attributed to its caller.
 */

/** Stages by part of a file's path; the first match wins. */
export const STAGES: readonly (readonly [path: string, stage: string])[] = [
  ['/src/http/auth/', 'auth'],
  ['/src/adapters/rate-limit/', 'auth'],
  ['/src/adapters/usage-marks', 'auth'],
  ['/src/http/bodies', 'parse the body'],
  ['/src/lib/http/bod', 'parse the body'],
  ['/src/lib/http/bounded-json', 'parse the body'],
  ['/src/http/fields', 'schema'],
  ['/src/http/problems', 'schema'],
  ['/src/http/resources/messages/send-fields', 'schema'],
  ['/src/http/resources/messages/send-body', 'schema'],
  ['/src/http/endpoint', 'schema'],
  ['/src/lib/html/', 'html'],
  ['/src/adapters/html/', 'html'],
  ['/src/commands/message/prepare-message', 'prepare'],
  ['/src/commands/message/send-', 'prepare'],
  ['/src/domain/message/draft', 'prepare'],
  ['/src/commands/message/attempt', 'claim and record'],
  ['/src/domain/message/attempt', 'claim and record'],
  ['/src/domain/message/', 'decide'],
  ['/src/commands/execute', 'decide'],
  ['/src/domain/kernel/codec', 'encode and decode'],
  ['/src/adapters/contents/contents-codec', 'encode and decode'],
  ['/src/adapters/contents/', 'contents'],
  ['/src/lib/event-log/postgres-append', 'append'],
  ['/src/lib/event-log/', 'log'],
  ['/src/lib/projections/', 'read models: runner'],
  ['/src/composition/open-engines', 'append'],
  ['/src/http/resources/messages/sent-message', 'answer'],
  ['/src/lib/http/answers', 'answer'],
  ['/node_modules/fastify/lib/reply', 'answer'],
  ['/node_modules/fastify/', 'router and hooks'],
  ['/node_modules/find-my-way/', 'router and hooks'],
  ['/src/http/', 'router and hooks'],
  ['/src/lib/http/', 'router and hooks'],
  ['/src/adapters/mail/compose', 'compose'],
  ['/src/lib/mime/', 'compose'],
  ['/src/lib/smtp/dkim/', 'sign'],
  ['/src/lib/smtp/', 'SMTP'],
  ['/src/adapters/mail/', 'SMTP'],
  ['/src/adapters/queue/', 'queue'],
  ['/src/adapters/webhook', 'webhooks'],
  ['/src/workers/webhooks/', 'webhooks'],
  ['/src/workers/delivery/', 'delivery'],
  ['/src/workers/', 'other workers'],
];
const PROJECTION = /\/src\/projections\/([^/.]+)/;
/** Frames of V8 itself, which have no file. */
const OWN_STAGES: ReadonlyMap<string, string> = new Map([
  ['(garbage collector)', 'garbage collector'],
  ['(program)', 'kernel and native'],
]);
/** Stage of samples without a frame of ours. */
const NODE = 'node: sockets and HTTP';
const REST = 'everything else';

const stageOfFile = (url: string): string | null => {
  const found = STAGES.find(([path]) => url.includes(path));
  if (found !== undefined) return found[1];
  const projection = PROJECTION.exec(url)?.[1];
  return projection === undefined ? null : `read models: ${projection}`;
};

const STATEMENTS: readonly (readonly [pattern: RegExp, stage: string])[] = [
  [/event_log\.|insert into events|from events/i, 'log'],
  [/vault\.contents|insert into contents/i, 'contents'],
  [/checkpoints/i, 'read models: checkpoints'],
  ...PROJECTIONS.flatMap(({ name, tables }) =>
    tables.map((table) => [new RegExp(`\\b${table}\\b`, 'i'), `read models: ${name}`] as const),
  ),
  [/\b(?:create|drop|alter|vacuum|checkpoint)\b/i, 'setup'],
];

/** Stage of a PostgreSQL statement; the first match wins. */
export const stageOfStatement = (text: string): string =>
  STATEMENTS.find(([pattern]) => pattern.test(text))?.[1] ?? REST;

/** Share of busy time by stage, largest first. */
export type Shares = Readonly<Record<string, number>>;

type Nodes = ReadonlyMap<number, Profiler.ProfileNode>;

const IDLE = '(idle)';
/** Excluded, because starting the profiler takes as long as many requests. */
const PROFILER = '/profile-on-signal.ts';

/** @param outer stage of the caller. */
const stageOf = (
  { callFrame: { functionName, url } }: Pick<Profiler.ProfileNode, 'callFrame'>,
  outer: string,
): string => {
  if (functionName === IDLE || outer === IDLE || url.endsWith(PROFILER)) return IDLE;
  if (url === '') return OWN_STAGES.get(functionName) ?? outer;
  const isOfNode = outer === REST && url.startsWith('node:');
  return stageOfFile(url) ?? (isOfNode ? NODE : outer);
};

/** Records the stages of a node and of everything it calls. */
const noteStages = (stages: Map<number, string>, nodes: Nodes, id: number, outer: string): void => {
  const node = nodes.get(id);
  if (node === undefined) return;
  const stage = stageOf(node, outer);
  stages.set(id, stage);
  for (const child of node.children ?? []) noteStages(stages, nodes, child, stage);
};

/** Node of a heap profile; the DevTools protocol calls it `SamplingHeapProfileNode`. */
export type HeapNode = HeapProfiler.SamplingHeapProfileNode;

/** Allocated bytes by stage, largest first. */
export const bytesByStage = (head: HeapNode): Shares => {
  const bytes = new Map<string, number>();
  const add = (node: HeapNode, outer: string): void => {
    const stage = stageOf(node, outer);
    bytes.set(stage, (bytes.get(stage) ?? 0) + node.selfSize);
    for (const child of node.children) add(child, stage);
  };
  add(head, REST);
  bytes.delete(IDLE);
  return Object.fromEntries([...bytes].sort(([, a], [, b]) => b - a));
};

export const sharesOf = ({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Shares => {
  const stages = new Map<number, string>();
  noteStages(stages, new Map(nodes.map((node) => [node.id, node])), nodes[0]?.id ?? 0, REST);
  const micros = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const stage = stages.get(id) ?? REST;
    micros.set(stage, (micros.get(stage) ?? 0) + (timeDeltas[index] ?? 0));
  }
  micros.delete(IDLE);
  const total = micros.values().reduce((sum, one) => sum + one, 0);
  return Object.fromEntries([...micros].sort(([, a], [, b]) => b - a).map(([stage, one]) => [stage, one / total]));
};
