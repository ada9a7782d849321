/** What a promise comes to, unless `signal` aborts first: then undefined, and whatever it comes to is dropped. */
export const inTime = async <Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> => {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const end = (): void => resolve(undefined);
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([promise, late]);
  } finally {
    signal.removeEventListener('abort', end);
  }
};
