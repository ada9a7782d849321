import { setTimeout as sleep } from 'node:timers/promises';
import type { World } from './world.ts';

export interface Answered {
  readonly status: number;
  readonly text: string;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** One request of an administrator: a GET, or a POST where there is a body, unless said otherwise. @returns null: nothing was answered. */
export type Ask = (path: string, body?: unknown, method?: Method) => Promise<Answered | null>;

export interface Asked {
  readonly path: string;
  readonly body?: unknown;
  readonly method?: Method;
}

const REQUEST_MS = 10_000;
const AGAIN_MS = 200;
const TIMES_MAX = 100;

/** Of the world's API, with its key unless another is given. */
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

/** What a patient administrator does. @throws {Error} it was never answered so. */
export const untilAnswered = async (
  ask: Ask,
  { path, body, method }: Asked,
  isWanted: (answer: Answered) => boolean,
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
