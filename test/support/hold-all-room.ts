import {
  BODIES_IN_FLIGHT_BYTES_MAX,
  type BodyBudget,
  SMALL_BODY_BYTES_MAX,
} from '../../src/http/bodies/body-budget.ts';

/** Takes all the room there is for bodies. @returns what gives it back. */
export const holdAllRoom = async (bodies: BodyBudget): Promise<() => void> => {
  const count = BODIES_IN_FLIGHT_BYTES_MAX / SMALL_BODY_BYTES_MAX;
  const held = await Promise.all(
    Array.from({ length: count }, () => bodies.reserve('other', SMALL_BODY_BYTES_MAX, { waits: false })),
  );
  return () => {
    for (const one of held) one?.release();
  };
};
