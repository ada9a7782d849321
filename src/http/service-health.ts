import { type System, TimedOut, withTimeout } from '../lib/async/async.ts';
import type { PartName, PartStatus, SerializedService, ServiceParts } from './schemas/service.ts';

/**
 * Collects the health of the service part by part. Parts are asked at once, and each has its own time-out, so that one
 * that hangs is `unknown` and holds no other up. It is not asked again before it has answered.
 */

/** Facts and problems of a part. */
export interface PartHealth<Facts> {
  /** null: this service, or this process, has no such part. */
  readonly facts: Facts | null;
  /** Sentences for operators, without data of an organization. */
  readonly problems: readonly string[];
}

/** How each part is asked. */
export type HealthParts = {
  readonly [Name in PartName]: () => Promise<PartHealth<NonNullable<ServiceParts[Name]['facts']>>>;
};

/** A person waits. Longer keeps the screen empty, shorter calls a busy database unknown. */
const PART_MS_MAX = 2_000;
/** Operators who look at once share an answer. Longer shows older figures. */
const SHARED_MS = 1_000;

interface Part {
  readonly status: PartStatus;
  readonly problems: string[];
  readonly facts: unknown;
}

const unknown = (error: unknown): Part => ({
  status: 'unknown',
  problems: [error instanceof TimedOut ? `no answer within ${PART_MS_MAX / 1000} s` : 'it cannot be read just now'],
  facts: null,
});

const known = ({ facts, problems }: PartHealth<unknown>): Part => {
  if (problems.length > 0) return { status: 'attention', problems: [...problems], facts };
  return { status: facts === null ? 'unused' : 'ok', problems: [], facts };
};

const worstOf = (parts: readonly Part[]): PartStatus => {
  const has = (status: PartStatus): boolean => parts.some((part) => part.status === status);
  if (has('attention')) return 'attention';
  return has('unknown') ? 'unknown' : 'ok';
};

/** @returns the health as it was at most a second ago. Never rejects. */
export const createServiceHealth = (parts: HealthParts, system: System): (() => Promise<SerializedService>) => {
  const asking = new Map<string, Promise<PartHealth<unknown>>>();
  let shared: { readonly untilMs: number; readonly answer: Promise<SerializedService> } | undefined;

  const askOnce = (name: string, ask: () => Promise<PartHealth<unknown>>): Promise<PartHealth<unknown>> => {
    const under = asking.get(name);
    if (under !== undefined) return under;
    const asked = ask().finally(() => asking.delete(name));
    asking.set(name, asked);
    return asked;
  };

  const answerOf = async (name: string, ask: () => Promise<PartHealth<unknown>>): Promise<readonly [string, Part]> => {
    try {
      return [name, known(await withTimeout({ ms: PART_MS_MAX, system }, askOnce(name, ask)))];
    } catch (error) {
      return [name, unknown(error)];
    }
  };

  const collect = async (): Promise<SerializedService> => {
    const found = await Promise.all(Object.entries(parts).map(([name, ask]) => answerOf(name, ask)));
    return {
      object: 'service',
      at: system.now().toISOString(),
      status: worstOf(found.map(([, part]) => part)),
      parts: Object.fromEntries(found) as ServiceParts, // each by the function of its name
    };
  };

  return () => {
    const nowMs = system.monotonicMs();
    if (shared === undefined || nowMs >= shared.untilMs) shared = { untilMs: nowMs + SHARED_MS, answer: collect() };
    return shared.answer;
  };
};
