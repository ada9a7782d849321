import type { UsageMarks } from '../../domain/api-key/secret.ts';
import type { ExistingSession } from '../../domain/member/session.ts';
import type { System } from '../../lib/async/async.ts';

/**
 * Whether sessions are in use. Each request of a session leaves a mark, as those of keys do; it is asked for only where
 * this process has not seen the session for as long as a session may rest.
 */
export interface SessionActivity {
  /** Whether the session was not used for so long that it is over. @param idleMs how long that is. */
  isIdle(session: ExistingSession, idleMs: number): Promise<boolean>;
  /** It is used now: its member does something. */
  note(session: ExistingSession): void;
}

/** 100 bytes each. With fewer, sessions that come again cost a query. */
const SEEN_MAX = 10_000;

export const createSessionActivity = ({
  usageMarks,
  system,
}: {
  readonly usageMarks: Pick<UsageMarks, 'of'>;
  readonly system: Pick<System, 'now'>;
}): SessionActivity => {
  /** When the session was last used, as far as is known here, and whether all processes were asked since. */
  const seen = new Map<string, { readonly atMs: number; readonly isFinal: boolean }>();

  const keep = (sessionId: string, atMs: number, isFinal: boolean): void => {
    const oldest = seen.size < SEEN_MAX ? undefined : seen.keys().next().value;
    if (oldest !== undefined) seen.delete(oldest);
    seen.delete(sessionId);
    seen.set(sessionId, { atMs, isFinal });
  };

  const lastUsedMs = async ({ sessionId, startedAt }: ExistingSession): Promise<number> => {
    const marks = await usageMarks.of([sessionId]);
    return Math.max(Date.parse(startedAt), ...marks.map(({ lastUsedAt }) => lastUsedAt.getTime()));
  };

  return {
    isIdle: async (session, idleMs) => {
      const nowMs = system.now().getTime();
      const known = seen.get(session.sessionId);
      if (nowMs - Math.max(known?.atMs ?? 0, Date.parse(session.startedAt)) < idleMs) return false;
      // It can have been used elsewhere only as long as it was not over there either.
      if (known?.isFinal === true) return true;
      const atMs = await lastUsedMs(session);
      const isIdle = nowMs - atMs >= idleMs;
      keep(session.sessionId, atMs, isIdle);
      return isIdle;
    },
    note: ({ sessionId }) => keep(sessionId, system.now().getTime(), false),
  };
};
