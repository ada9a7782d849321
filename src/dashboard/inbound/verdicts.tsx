import type { JSX } from 'preact';
import type { SerializedListedInbound } from '../../http/resources/inbound.ts';
import { type State, Status } from '../components/icons.tsx';

/** Results of the checks of a sender, in words. */

type Verdicts = SerializedListedInbound['verdicts'];
type Check = keyof Verdicts;
type Verdict = Verdicts[Check];

interface Word {
  readonly state: State;
  readonly word: string;
}

const SENDERS: Readonly<Partial<Record<Verdict, Word>>> = {
  pass: { state: 'verified', word: 'Sender verified' },
  fail: { state: 'fault', word: 'Fails DMARC' },
  none: { state: 'unchecked', word: 'Sender not proven' },
};

/** Judges the sender by DMARC: the other checks do not cover the address that people see. */
export const senderOf = ({ verdicts }: Pick<SerializedListedInbound, 'verdicts'>): Word =>
  SENDERS[verdicts.dmarc] ?? { state: 'unchecked', word: 'Sender not checked' };

const CHECKS: Readonly<Record<Check, { readonly name: string; readonly says: Partial<Record<Verdict, string>> }>> = {
  dmarc: {
    name: 'DMARC',
    says: {
      pass: 'The domain of the From address is genuine.',
      fail: 'The domain of the From address did not send this mail, or a forwarder changed it. The sender can be forged.',
      none: 'The domain of the From address publishes no DMARC policy. The sender can be forged.',
    },
  },
  spf: {
    name: 'SPF',
    says: {
      pass: 'The server that sent the mail may send for the domain of the return path.',
      fail: 'The domain of the return path does not allow the server that sent the mail.',
      softfail: 'The domain of the return path probably does not allow the server that sent the mail.',
      neutral: 'The domain of the return path does not say whether the server may send for it.',
      none: 'The domain of the return path publishes no SPF record, or no server delivered the mail.',
    },
  },
  dkim: {
    name: 'DKIM',
    says: {
      pass: 'A signature is valid: the signed parts did not change on the way.',
      fail: 'No signature is valid: the mail changed on the way, or is forged.',
      neutral: 'The signature cannot be used.',
      policy: 'The signature is too weak to count.',
      none: 'The mail is not signed.',
    },
  },
  arc: {
    name: 'ARC',
    says: {
      pass: 'The seals of all forwarders are valid.',
      fail: 'A seal of a forwarder is broken.',
      none: 'No forwarder sealed the mail.',
    },
  },
};

const OTHERWISE: Readonly<Record<Verdict, string>> = {
  pass: 'The check passed.',
  fail: 'The check failed.',
  softfail: 'The check probably failed.',
  neutral: 'The check says nothing.',
  none: 'There was nothing to check.',
  policy: 'The result does not count.',
  temperror: 'Not checked: the DNS did not answer in time.',
  permerror: 'Not checked: a record or a header is invalid or too large.',
};

const STATES: Readonly<Record<Verdict, State>> = {
  pass: 'verified',
  fail: 'fault',
  softfail: 'warning',
  neutral: 'unchecked',
  none: 'unchecked',
  policy: 'warning',
  temperror: 'warning',
  permerror: 'warning',
};

/** Each check, its result and what that means. */
export const VerdictList = ({ verdicts }: { readonly verdicts: Verdicts }): JSX.Element => (
  <dl class="verdicts">
    {(Object.keys(CHECKS) as readonly Check[]).map((check) => {
      const { name, says } = CHECKS[check];
      const verdict = verdicts[check];
      return (
        <div key={check}>
          <dt>{name}</dt>
          <dd>
            <Status state={STATES[verdict]} word={verdict} />
            <span class="two">{says[verdict] ?? OTHERWISE[verdict]}</span>
          </dd>
        </div>
      );
    })}
  </dl>
);
