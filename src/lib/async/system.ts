/** PORT: structured logging (pino's shape). Never a secret, an address or a body. */
export interface Logger {
  debug(fields: object, sentence: string): void;
  info(fields: object, sentence: string): void;
  warn(fields: object, sentence: string): void;
  error(fields: object, sentence: string): void;
}

/**
 * The service cannot or must not start. The message is one sentence for the operator: what is wrong and what to do
 * about it; it is printed as it is, without a stack.
 */
export class StartRefused extends Error {
  override readonly name = 'StartRefused';
}

/** The log or the database cannot be reached now. The call wrote nothing: try again later. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable';
}

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
