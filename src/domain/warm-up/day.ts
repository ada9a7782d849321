const DAY_MS = 86_400_000;

/** `YYYY-MM-DD`, UTC. */
export const dayOf = (time: Date): string => time.toISOString().slice(0, 'YYYY-MM-DD'.length);

/** When a day begins, in milliseconds since 1970. */
export const startOf = (day: string): number => Date.parse(`${day}T00:00:00.000Z`);

/** The day so many days after another. */
export const dayAfter = (day: string, days: number): string => dayOf(new Date(startOf(day) + days * DAY_MS));

/** How many days a day is after another. */
export const daysBetween = (from: string, to: string): number => Math.round((startOf(to) - startOf(from)) / DAY_MS);

/** A moment of a day. @param share in [0, 1): how much of the day is over. */
export const momentOf = (day: string, share: number): number => startOf(day) + Math.floor(share * DAY_MS);
