import { BODIES_IN_FLIGHT_BYTES_MAX, type BodyBudget, SMALL_BODY_BYTES_MAX } from '../../src/lib/http/body-budget.ts';

/** Reserves all memory for bodies, a little for each of many organizations. @returns a function that releases it. */
export const holdAllRoom = async (bodies: BodyBudget): Promise<() => void> => {
  const count = BODIES_IN_FLIGHT_BYTES_MAX / SMALL_BODY_BYTES_MAX;
  const held = await Promise.all(
    Array.from({ length: count }, (_, at) => bodies.reserve(`other ${at}`, SMALL_BODY_BYTES_MAX, { waits: false })),
  );
  return () => {
    for (const one of held) one?.release();
  };
};
