/** SMTP commands of a client, plus `CONNECT` for its connection and `DOT` for the end of a message. */
export const SMTP_COMMANDS = ['CONNECT', 'EHLO', 'MAIL', 'RCPT', 'DATA', 'DOT', 'QUIT', 'RSET', 'OTHER'] as const;
export type SmtpCommand = (typeof SMTP_COMMANDS)[number];

/** `arrived`: the command has arrived and is not answered; `replied`: the reply has been sent. */
export interface SmtpMoment {
  readonly command: SmtpCommand;
  readonly when: 'arrived' | 'replied';
}

/** Replaces the usual reply. It has an effect only at `arrived`. */
export type SmtpAnswer = { readonly reply: string } | 'no answer' | 'hang up';
type SmtpAct = () => Promise<SmtpAnswer | undefined> | SmtpAnswer | undefined;

/** Actions planned for the sink. */
export interface SmtpPlan {
  /**
   * Acts once, at the n-th occurrence of the moment (from 1, from now, over all sessions). The server waits for the
   * action.
   */
  at(moment: SmtpMoment, act: SmtpAct, nth?: number): void;
  /** Acts at every occurrence. @returns a function that ends it. */
  whenever(moment: SmtpMoment, act: SmtpAct): () => void;
}

/** The plan with the method that the dialogue calls. */
export interface ActingSmtpPlan extends SmtpPlan {
  /** @returns the reply of the last action that chose one. */
  reach(moment: SmtpMoment): Promise<SmtpAnswer | undefined>;
}

interface PlannedAct {
  readonly moment: SmtpMoment;
  readonly act: SmtpAct;
  left: number;
  readonly once: boolean;
}

const isSame = (one: SmtpMoment, other: SmtpMoment): boolean =>
  one.command === other.command && one.when === other.when;

export const createSmtpPlan = (): ActingSmtpPlan => {
  const planned = new Set<PlannedAct>();

  const isDue = (item: PlannedAct): boolean => {
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
