import { setTimeout as sleep } from 'node:timers/promises';
import type { World } from './world.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/**
 * A request by an administrator: GET, or POST if there is a body, unless a method is given. @returns null if there was
 * no response.
 */
export type Ask = (path: string, body?: unknown, method?: Method) => Promise<ApiAnswer | null>;

export interface ApiRequest {
  readonly path: string;
  readonly body?: unknown;
  readonly method?: Method;
}

const REQUEST_MS = 10_000;
const AGAIN_MS = 200;
const TIMES_MAX = 100;

/** Sends requests to the world's API, with its key by default. */
export const askIn =
  ({ programs, key }: Pick<World, 'programs' | 'key'>): Ask =>
  async (path, body, method = body === undefined ? 'GET' : 'POST') => {
    try {
      const response = await fetch(programs.baseUrl() + path, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(REQUEST_MS),
      });
      return { status: response.status, text: await response.text() };
    } catch {
      return null;
    }
  };

/** Repeats a request until the response is as wanted. @throws {Error} if it never is. */
export const untilAnswered = async (
  ask: Ask,
  { path, body, method }: ApiRequest,
  isWanted: (answer: ApiAnswer) => boolean,
): Promise<string> => {
  let last = '';
  for (let time = 0; time < TIMES_MAX; time += 1) {
    const answer = await ask(path, body, method);
    if (answer !== null && isWanted(answer)) return answer.text;
    last = JSON.stringify(answer);
    await sleep(AGAIN_MS);
  }
  throw new Error(`${path} is not answered as it should be: ${last}`);
};
