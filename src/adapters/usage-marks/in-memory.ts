import type { UsageMark, UsageMarks, UsedSecret } from '../../domain/ports/usage-marks.ts';

export interface PendingMarks {
  note(mark: UsageMark): void;
  /** All marks, and none are left. */
  take(): readonly UsageMark[];
  of(keyIds: readonly string[]): readonly UsageMark[];
}

const nameOf = ({ keyId, secretHash }: UsedSecret): string => `${keyId} ${secretHash}`;

/** The newest mark of each secret. */
export const createPendingMarks = (): PendingMarks => {
  let marks = new Map<string, UsageMark>();
  return {
    note: (mark) => {
      const known = marks.get(nameOf(mark));
      if (known === undefined || known.lastUsedAt <= mark.lastUsedAt) marks.set(nameOf(mark), mark);
    },
    take: () => {
      const taken = [...marks.values()];
      marks = new Map();
      return taken;
    },
    of: (keyIds) => [...marks.values()].filter(({ keyId }) => keyIds.includes(keyId)),
  };
};

/** Marks that end with the process. */
export const createInMemoryUsageMarks = (): UsageMarks => {
  const marks = createPendingMarks();
  return {
    mark: marks.note,
    of: async (keyIds) => marks.of(keyIds),
    flush: async () => undefined,
    close: async () => undefined,
  };
};
