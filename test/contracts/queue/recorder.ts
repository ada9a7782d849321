import { expect, vi } from 'vitest';
import type { Logger } from '../../../src/lib/async/async.ts';

/** A logger that collects its messages. */
export const createRecordingLogger = (): Logger & { readonly sentences: string[] } => {
  const sentences: string[] = [];
  const keep = (_fields: object, sentence: string): void => {
    sentences.push(sentence);
  };
  return { debug: keep, info: keep, warn: keep, error: keep, sentences };
};

/** Waits until all of these have been handled. */
export const untilHandled = (handled: readonly unknown[], wanted: readonly unknown[]): Promise<void> =>
  vi.waitFor(() => expect(handled).toEqual(expect.arrayContaining([...wanted])), { timeout: 12_000, interval: 10 });

/** Waits until the condition holds. */
export const until = (holds: () => boolean | Promise<boolean>): Promise<void> =>
  vi.waitFor(async () => expect(await holds()).toBe(true), { timeout: 12_000, interval: 10 });
