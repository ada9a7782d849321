import { type ExistingSession, SESSION_IDLE_MS } from '../../domain/member/session.ts';
import type { System } from '../../domain/ports/system.ts';
import type { UsageMarks } from '../../domain/ports/usage-marks.ts';

/**
 * Whether sessions are in use. Each request of a session leaves a mark, as those of keys do; it is asked for only where
 * this process has not seen the session for as long as a session may rest.
 */
export interface SessionActivity {
  /** Whether the session was not used for so long that it is over. If it is not, it counts as used now. */
  isIdle(session: ExistingSession): Promise<boolean>;
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
  /** When a request of the session last came here; null: it is over for good. */
  const seen = new Map<string, number | null>();

  const note = (sessionId: string, atMs: number | null): void => {
    const oldest = seen.size < SEEN_MAX ? undefined : seen.keys().next().value;
    if (oldest !== undefined) seen.delete(oldest);
    seen.delete(sessionId);
    seen.set(sessionId, atMs);
  };

  const lastUsedMs = async ({ sessionId, startedAt }: ExistingSession): Promise<number> => {
    const marks = await usageMarks.of([sessionId]);
    return Math.max(Date.parse(startedAt), ...marks.map(({ lastUsedAt }) => lastUsedAt.getTime()));
  };

  return {
    isIdle: async (session) => {
      const nowMs = system.now().getTime();
      const known = seen.get(session.sessionId);
      if (known === null) return true;
      const recent = Math.max(known ?? 0, Date.parse(session.startedAt));
      const isRecent = nowMs - recent < SESSION_IDLE_MS || nowMs - (await lastUsedMs(session)) < SESSION_IDLE_MS;
      note(session.sessionId, isRecent ? nowMs : null);
      return !isRecent;
    },
  };
};
