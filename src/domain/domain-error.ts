import type { ErrorCode } from './error-catalogue.ts';

/** Problems by field name: `{ to: ['to is required'] }`. */
export type Details = Readonly<Record<string, readonly string[]>>;

/**
 * The error for a command that was understood and refused. `code` is from the catalogue. Decisions throw no other
 * exception.
 */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly code: ErrorCode;
  readonly details: Details | undefined;
  readonly retryAfterSeconds: number | undefined;
  constructor(code: ErrorCode, message: string, more: { details?: Details; retryAfterSeconds?: number } = {}) {
    super(message);
    this.code = code;
    this.details = more.details;
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}
