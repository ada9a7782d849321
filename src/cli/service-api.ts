import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { CommandFailed } from './command.ts';

/** A running service, by its API: at `OUTBOX_URL`, with the key `OUTBOX_API_KEY`. */

/** The service refuses something; `status` 412 and 409 are conflicts. */
export class ApiRefused extends Error {
  override readonly name = 'ApiRefused';
  readonly status: number;
  /** For people: what `details` of the answer names. */
  readonly details: readonly string[];

  constructor(status: number, message: string, details: readonly string[]) {
    super(message);
    this.status = status;
    this.details = details;
  }
}

/** For one request. Lower: slow networks fail. Higher: a service that hangs is noticed late. */
const TIMEOUT_MS = 30_000;
/** How often a request that was refused by a rate limit is repeated, when the answer says. */
const REPEATS_MAX = 5;
const REPEAT_AFTER_SECONDS_MAX = 60;
const text = z.string();
const errorSchema = z.object({
  error: z.object({ message: text, code: text, details: z.record(text, z.array(text)).optional() }),
});

interface Request {
  readonly body?: object;
  /** Of what is changed; somebody else has changed it since: 412. */
  readonly etag?: string;
}

export interface Answer {
  readonly body: unknown;
  readonly etag: string;
}

export const parsed = <Value>(schema: z.ZodType<Value>, { body }: Answer): Value => {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw new CommandFailed('OUTBOX_URL answers something else than Outbox does');
};

const requireSetting = (name: 'OUTBOX_URL' | 'OUTBOX_API_KEY'): string => {
  const value = process.env[name] ?? '';
  if (value === '') throw new CommandFailed(`${name} is not set`);
  return value;
};

const serviceUrl = (): URL => {
  const value = requireSetting('OUTBOX_URL');
  if (!URL.canParse(value) || !/^https?:/.test(value))
    throw new CommandFailed('OUTBOX_URL must be an http or https URL');
  return new URL(value);
};

const refused = (status: number, body: unknown): ApiRefused => {
  const { success, data } = errorSchema.safeParse(body);
  if (!success) return new ApiRefused(status, `the service answers ${status}`, []);
  const { message, code, details = {} } = data.error;
  return new ApiRefused(status, `${message} (${code})`, Object.values(details).flat());
};

const requestOf = (key: string, { body, etag }: Request): RequestInit => ({
  headers: {
    authorization: `Bearer ${key}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(etag === undefined ? {} : { 'if-match': etag }),
  },
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
});

export const openService = () => {
  const { origin } = serviceUrl();
  const key = requireSetting('OUTBOX_API_KEY');

  const fetched = async (method: string, path: string, options: RequestInit): Promise<Response> => {
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      return await fetch(`${origin}/v1${path}`, { method, redirect: 'error', signal, ...options });
    } catch (error) {
      const { cause = error } = error as Error;
      throw new CommandFailed(`${origin} cannot be reached: ${cause instanceof Error ? cause.message : 'unknown'}`);
    }
  };

  /** Repeats what a rate limit refused, when the answer says. */
  const patiently = async (method: string, path: string, options: RequestInit, repeats = 0): Promise<Response> => {
    const answer = await fetched(method, path, options);
    const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
    if (answer.status !== 429 || !(seconds <= REPEAT_AFTER_SECONDS_MAX) || repeats === REPEATS_MAX) return answer;
    await sleep(seconds * 1_000);
    return patiently(method, path, options, repeats + 1);
  };

  const call = async (method: string, path: string, request: Request = {}): Promise<Answer> => {
    const answer = await patiently(method, path, requestOf(key, request));
    const said: unknown = await answer.json().catch(() => null);
    if (!answer.ok) throw refused(answer.status, said);
    return { body: said, etag: answer.headers.get('etag') ?? '' };
  };

  return { origin, call };
};

export type ServiceApi = ReturnType<typeof openService>;
