import { DeadlineExceeded } from './errors/is-unavailable.ts';

/**
 * What `work` comes to, if it does in time; it is not stopped otherwise, only waited for no longer. A plain timer: this
 * stands around every request.
 * @throws {DeadlineExceeded}
 */
export const within = async <T>(ms: number, work: Promise<T>): Promise<T> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new DeadlineExceeded(`no answer within ${ms} ms`)), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
};
