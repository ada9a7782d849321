/** What a client says; `CONNECT` stands for its arrival, `DOT` for the end of a message. */
export const SMTP_COMMANDS = ['CONNECT', 'EHLO', 'MAIL', 'RCPT', 'DATA', 'DOT', 'QUIT', 'RSET', 'OTHER'] as const;
export type SmtpCommand = (typeof SMTP_COMMANDS)[number];

/** `arrived`: the command is there and nothing is answered yet; `replied`: its reply is on its way. */
export interface SmtpMoment {
  readonly command: SmtpCommand;
  readonly when: 'arrived' | 'replied';
}

/** What the server does instead of its usual reply; only counts when a command has arrived. */
export type SmtpAnswer = { readonly reply: string } | 'no answer' | 'hang up';
export type SmtpAct = () => Promise<SmtpAnswer | undefined> | SmtpAnswer | undefined;

/** What the sink is told to do. */
export interface SmtpPlan {
  /** Once, the n-th time (from 1, from now) that the moment comes, over all sessions. The server waits until it is done. */
  at(moment: SmtpMoment, act: SmtpAct, nth?: number): void;
  /** Every time. @returns ends it. */
  whenever(moment: SmtpMoment, act: SmtpAct): () => void;
}

/** The side of the plan that the dialogue asks. */
export interface SmtpPlanAsked extends SmtpPlan {
  /** @returns what the last of those who had something to do wants answered. */
  reach(moment: SmtpMoment): Promise<SmtpAnswer | undefined>;
}

interface Planned {
  readonly moment: SmtpMoment;
  readonly act: SmtpAct;
  left: number;
  readonly once: boolean;
}

const isSame = (one: SmtpMoment, other: SmtpMoment): boolean =>
  one.command === other.command && one.when === other.when;

export const createSmtpPlan = (): SmtpPlanAsked => {
  const planned = new Set<Planned>();

  const isDue = (item: Planned): boolean => {
    item.left -= 1;
    if (item.left > 0) return false;
    if (item.once) planned.delete(item);
    return true;
  };

  return {
    at: (moment, act, nth = 1) => {
      planned.add({ moment, act, left: nth, once: true });
    },
    whenever: (moment, act) => {
      const item = { moment, act, left: 0, once: false };
      planned.add(item);
      return () => void planned.delete(item);
    },
    reach: async (moment) => {
      let answer: SmtpAnswer | undefined;
      for (const item of [...planned].filter((each) => isSame(each.moment, moment)).filter(isDue)) {
        answer = (await item.act()) ?? answer;
      }
      return answer;
    },
  };
};
