import type { DecodedPacket } from 'dns-packet';
import { AUTHENTIC_DATA, encode, RECURSION_DESIRED } from 'dns-packet';

export interface Question {
  /** Lower case, without a dot at its end. */
  readonly name: string;
  readonly type: 'A' | 'AAAA' | 'MX' | 'TXT' | 'TLSA';
}

/**
 * What fits into a datagram on any path without fragments (DNS flag day 2020). Larger loses fragments, and lets others
 * slip theirs in between; smaller asks by TCP more often.
 */
const UDP_BYTES_MAX = 1232;

/** RFC 1035 §2.3.4: what is longer, or has an empty label, cannot be asked for. */
const ASKABLE = /^(?=.{1,253}$)[!-\-/-~]{1,63}(?:\.[!-\-/-~]{1,63})*$/;

export const isAskable = (name: string): boolean => ASKABLE.test(name);

/** As names are compared. What is not printable, and belongs into no name, is shown as a question mark. */
export const plainName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/\.$/, '')
    .replaceAll(/[^!-~]/g, '?');

/** @param edns false: for a server that does not understand it (RFC 6891 §7). */
export const encodeQuestion = (id: number, { name, type }: Question, edns: boolean): Buffer =>
  encode({
    ...{ type: 'query', id },
    // AD in a question asks for AD in the answer (RFC 6840 §5.7).
    flags: RECURSION_DESIRED | AUTHENTIC_DATA,
    questions: [{ name, type, class: 'IN' }],
    additionals: edns
      ? [
          {
            ...{ type: 'OPT', name: '.', udpPayloadSize: UDP_BYTES_MAX, extendedRcode: 0, ednsVersion: 0 },
            ...{ flags: 0, flag_do: false, options: [] },
          },
        ]
      : [],
  });

export const isAnswerTo = ({ name, type }: Question, { questions = [] }: DecodedPacket): boolean => {
  const [only] = questions;
  return questions.length === 1 && only !== undefined && plainName(only.name) === name && only.type === type;
};
