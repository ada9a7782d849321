/** How much of request bodies this process holds at once. */
export interface BodyBudget {
  /** false: there is no room, and nothing was taken. */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

/** Each byte costs a few more while it is parsed and stored: more endangers the process, less refuses large mail. */
export const BODIES_IN_FLIGHT_BYTES_MAX = 128_000_000;

export const createBodyBudget = (maximum: number): BodyBudget => {
  let taken = 0;
  return {
    take: (bytes) => {
      if (taken + bytes > maximum) return false;
      taken += bytes;
      return true;
    },
    give: (bytes) => {
      taken -= bytes;
    },
  };
};
