import * as resources from './api/resources.ts';
import { type Configuration, createCall } from './call.ts';
import { type StreamedEvent, type StreamOptions, type StreamQuery, streamEvents } from './event-stream.ts';
import type { Operation, RequestOptions } from './request.ts';
import { environment } from './runtime.ts';
import { verifyWebhook } from './webhooks.ts';

type Resources = typeof resources;

/** A function for each operation of the API, by resource. */
export type Outbox = {
  readonly [Name in Exclude<keyof Resources, 'events' | 'webhooks'>]: ReturnType<Resources[Name]>;
} & {
  readonly events: ReturnType<Resources['events']> & {
    /** Events as they happen. Reconnects automatically and resumes after the last event. Ends with the loop or the signal. */
    stream(query?: StreamQuery, options?: StreamOptions): AsyncGenerator<StreamedEvent>;
  };
  readonly webhooks: ReturnType<Resources['webhooks']> & {
    /** Verifies a post to a webhook and reads its event; needs no request. */
    readonly verify: typeof verifyWebhook;
  };
  /** Sends any other request, such as one for another media type with `accept`. */
  request(operation: Operation, options?: RequestOptions): Promise<Response>;
};

/** Options of a client; those that are undefined have their default. */
export type ClientOptions = { readonly [Name in keyof Configuration]?: Configuration[Name] | undefined };

const required = (value: string | null | undefined, name: string, variable: string): string => {
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  throw new TypeError(`${name} is required: pass it, or set ${variable}`);
};

/** @throws {TypeError} if a field is missing or invalid. Messages never contain the key. */
const configured = (given: ClientOptions): Configuration => ({
  ...given,
  apiKey: required(given.apiKey ?? environment('OUTBOX_API_KEY'), 'apiKey', 'OUTBOX_API_KEY'),
  baseUrl: required(given.baseUrl ?? environment('OUTBOX_URL'), 'baseUrl', 'OUTBOX_URL'),
});

/**
 * A client of the Outbox API: `outbox.messages.send({ from, to, subject, html })`.
 * @param given `apiKey` and `baseUrl`, or the variables OUTBOX_API_KEY and OUTBOX_URL.
 * @throws {TypeError} if one of them is missing or malformed.
 */
export const createOutbox = (given: ClientOptions = {}): Outbox => {
  const call = createCall(configured(given));
  const made = Object.fromEntries(Object.entries(resources).map(([name, make]) => [name, make(call)])) as {
    readonly [Name in keyof Resources]: ReturnType<Resources[Name]>;
  };
  return {
    ...made,
    events: { ...made.events, stream: (query, options) => streamEvents(call, query, options) },
    webhooks: { ...made.webhooks, verify: verifyWebhook },
    request: (operation, options) => call.response(operation, options),
  };
};
