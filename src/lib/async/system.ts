/**
 * PORT: time and randomness. Only `adapters/system.ts` reads a clock or generates randomness; tests use a seeded one.
 */
export interface System {
  /** Wall clock. */
  now(): Date;
  /** Milliseconds that never run backwards, for time-outs and ages. */
  monotonicMs(): number;
  randomBytes(length: number): Uint8Array;
  /** UUID for events and contents. Ids made at the same time sort together. */
  uuid(): string;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
