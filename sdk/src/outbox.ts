import * as resources from './api/resources.ts';
import { type Configuration, createCall, type Operation, type RequestOptions } from './call.ts';
import { type StreamedEvent, type StreamOptions, type StreamQuery, streamEvents } from './event-stream.ts';

const environment = (name: string): string | undefined =>
  (globalThis as { readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> } }).process?.env?.[
    name
  ];

const required = (value: string | undefined, name: string, variable: string): string => {
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  throw new TypeError(`${name} is required: pass it, or set ${variable}`);
};

/** @throws {TypeError} a field is missing or cannot be right. */
const configured = (given: Partial<Configuration>): Configuration => {
  const apiKey = required(given.apiKey ?? environment('OUTBOX_API_KEY'), 'apiKey', 'OUTBOX_API_KEY');
  const baseUrl = required(given.baseUrl ?? environment('OUTBOX_URL'), 'baseUrl', 'OUTBOX_URL');
  if (!apiKey.startsWith('ob_')) throw new TypeError('apiKey must begin with ob_');
  if (!/^https?:\/\//.test(baseUrl)) throw new TypeError('baseUrl must begin with https:// or http://');
  return { ...given, apiKey, baseUrl };
};

/**
 * A client of the Outbox API: `outbox.messages.send({ from, to, subject, html })`.
 * @param given `apiKey` and `baseUrl`, or the variables OUTBOX_API_KEY and OUTBOX_URL.
 */
export const createOutbox = (given: Partial<Configuration> = {}) => {
  const call = createCall(configured(given));
  const { events, ...others } = resources;
  return {
    ...(Object.fromEntries(Object.entries(others).map(([name, make]) => [name, make(call)])) as {
      readonly [Name in keyof typeof others]: ReturnType<(typeof others)[Name]>;
    }),
    events: {
      ...events(call),
      /** Events as they happen; resumes by itself over every cut. Ends with the loop or the signal. */
      stream: (query?: StreamQuery, options?: StreamOptions): AsyncGenerator<StreamedEvent> =>
        streamEvents(call, query, options),
    },
    /** Any other request, such as one for another media type by `accept`. */
    request: (operation: Operation, options?: RequestOptions): Promise<Response> => call.response(operation, options),
  };
};

export type Outbox = ReturnType<typeof createOutbox>;
