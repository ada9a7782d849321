/** PORT: time and randomness. Only `adapters/system.ts` reads a clock or makes randomness; tests give a seeded one. */
export interface System {
  /** Wall clock. */
  now(): Date;
  /** Milliseconds that never run backwards, for time-outs and ages. */
  monotonicMs(): number;
  randomBytes(length: number): Uint8Array;
  /** UUID for events and contents; those of one time sort together. */
  uuid(): string;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
