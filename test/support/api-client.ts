import { requireDescribed } from './openapi/require-described.ts';

export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

// biome-ignore lint/suspicious/noExplicitAny: an answer's shape is what each test looks at
export type AnyBody = any;

/** Calls the API as a client does. An answer that the service does not document is an error. */
export const apiClient = (baseUrl: string, key: string) => {
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<AnyBody>> => {
    const response = await fetch(baseUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const { status, headers: given } = response;
    await requireDescribed(baseUrl, { method, path, status, headers: given, text });
    const isJson = given.get('content-type')?.startsWith('application/json') === true;
    return { status, headers: given, body: isJson ? JSON.parse(text) : text || undefined };
  };
  return {
    call,
    get: (path: string) => call('GET', path),
    post: (path: string, body?: unknown, headers?: Record<string, string>) => call('POST', path, body, headers),
    patch: (path: string, body?: unknown, headers?: Record<string, string>) => call('PATCH', path, body, headers),
    delete: (path: string) => call('DELETE', path),
  };
};

export type ApiClient = ReturnType<typeof apiClient>;

/** Polls until the answer is as wanted. @throws after `timeoutMs`, with the last answer. */
export const eventually = async <T>(
  ask: () => Promise<T>,
  wanted: (answer: T) => boolean,
  timeoutMs = 10_000,
): Promise<T> => {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms; at last: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};
