import { DomainError } from '../../../src/domain/kernel/errors.ts';
import { AppendOutcomeUnknown } from '../../../src/domain/kernel/event-store.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import type { Life } from '../life.ts';
import type { Machine } from '../machine.ts';
import type { World } from '../world.ts';

/** The server died or was too slow. It may or may not have carried out the request. */
class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** Final result of a client's request; null: every attempt went unanswered. */
export type RequestResult<T> = { readonly done: T } | { readonly refused: DomainError } | null;

/** Sends a client's request to any running machine and repeats it if there is no response. */
export type Ask = <T>(what: string, work: (life: Life) => Promise<T>, tries: number) => Promise<RequestResult<T>>;

const PATIENCE_MS = 30_000;
const AGAIN_MS_MAX = 4000;

/** True for errors that reach a client as a 503 or as no response. */
const isTransient = (error: unknown): boolean =>
  error instanceof NoAnswer ||
  error instanceof StoreUnavailable ||
  error instanceof AppendOutcomeUnknown ||
  (error instanceof DomainError && (error.code === 'unavailable' || error.code === 'resource_conflict'));

export const pauseIn = ({ ground }: World, ms: number): Promise<void> =>
  new Promise((resolve) => {
    ground.scheduler.appoint(ms, 'a client goes on', resolve);
  });

/** One request to one process. */
const request = <T>({ ground }: World, life: Life, { what, work }: { what: string; work(life: Life): Promise<T> }) => {
  const { scheduler, latencyMs } = ground;
  const { process } = life;
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const giveUp = scheduler.appoint(PATIENCE_MS, 'a client loses its patience', () => reject(new NoAnswer('too slow')));
  const stopMourning = process.onDeath(() => {
    scheduler.after(latencyMs(), 'a client is cut off', () => reject(new NoAnswer('cut off')));
  });
  const answer = (tell: () => void): void => {
    stopMourning();
    giveUp.cancel();
    scheduler.after(latencyMs(), 'a client is answered', tell);
  };
  process.later(latencyMs(), `is asked: ${what}`, () => {
    void work(life).then(
      (done) => answer(() => resolve(done)),
      (error: unknown) => answer(() => reject(error)),
    );
  });
  return promise;
};

export const createAsk = (world: World, machines: readonly Machine[]): Ask => {
  const { random } = world.ground;

  const once = <T>(what: string, work: (life: Life) => Promise<T>): Promise<T> => {
    const life = random.pick(machines).life();
    if (life === null) return Promise.reject(new NoAnswer('no process is up'));
    const asked = {};
    world.requests.set(asked, life.process);
    return request(world, life, { what, work }).finally(() => world.requests.delete(asked));
  };

  /** @returns 'again' if the outcome is unknown. */
  const failed = (what: string, error: unknown): RequestResult<never> | 'again' => {
    if (isTransient(error)) return 'again';
    if (error instanceof DomainError) return { refused: error };
    world.violate('scenario', `${what} failed: ${error instanceof Error ? error.stack : String(error)}`);
    return null;
  };

  const attempt = <T>(what: string, work: (life: Life) => Promise<T>): Promise<RequestResult<T> | 'again'> =>
    once(what, work).then(
      (done) => ({ done }),
      (error: unknown) => failed(what, error),
    );

  return async (what, work, tries) => {
    for (let tried = 0; tried < tries; tried += 1) {
      const told = await attempt(what, work);
      if (told !== 'again') return told;
      await pauseIn(world, random.between(1, AGAIN_MS_MAX));
    }
    return null;
  };
};
