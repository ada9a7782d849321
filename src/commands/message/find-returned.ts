import type { ReturnedMail } from '../../domain/bounce/report.ts';
import { type ExistingMessage, type Message, message, messageStream } from '../../domain/message/message.ts';
import { isReturnPath, type ReturnToken, readReturnPath } from '../../domain/message/return-path.ts';
import { isUnsubscribeToken, readUnsubscribeToken } from '../../domain/message/unsubscribe-token.ts';
import type { CommandContext } from '../context.ts';
import { type Loaded, load } from '../execute.ts';
import { organizationSecret } from '../organization/organization-secret.ts';

type Context = Pick<CommandContext, 'store' | 'secrets'>;

/** A message that came back, proved to be ours. */
export interface Returned {
  readonly message: Loaded<ExistingMessage>;
  /** Which recipient's copy it was; null: one for several. */
  readonly recipientIndex: number | null;
}

/** Something that only we can have made, if its HMAC is right. */
interface Proof {
  readonly messageId: string;
  /** Whether it says whose copy it is of. */
  readonly isOfOne: boolean;
  isOurs(secret: Uint8Array): boolean;
  indexIn(state: ExistingMessage): number | null;
}

/** Stands in for the secret of an organization where there is no message. */
const NO_SECRET = new Uint8Array(32);
/** A message quotes two or three of them; each costs a read of the log. */
const PROOFS_MAX = 5;

const ofAddress = (token: ReturnToken): Proof => ({
  messageId: token.messageId,
  isOfOne: token.recipientIndex !== null,
  isOurs: (secret) => isReturnPath(secret, token),
  indexIn: () => token.recipientIndex,
});

const ofLink = (text: string): readonly Proof[] => {
  const token = readUnsubscribeToken(text);
  if (token === null) return [];
  const indexIn = ({ recipients }: ExistingMessage) => recipients.findIndex(({ id }) => id === token.recipientId);
  return [
    { messageId: token.messageId, isOfOne: true, isOurs: (secret) => isUnsubscribeToken(secret, token), indexIn },
  ];
};

const quotedProofs = (quoted: ReturnedMail['quoted']): readonly Proof[] => [
  ...quoted.localParts.flatMap((localPart) => {
    const token = readReturnPath(localPart);
    return token === null ? [] : [ofAddress(token)];
  }),
  ...quoted.linkTokens.flatMap(ofLink),
];

/** What is known of a message that an address or a link names, where that was made with its organization's secret. */
const prove = async ({ store, secrets }: Context, proof: Proof): Promise<Returned | null> => {
  const { state, revision }: Loaded<Message> = await load(store, message, messageStream(proof.messageId));
  const secret = state.status === 'absent' ? NO_SECRET : await organizationSecret(secrets, state.organizationId);
  const isOurs = proof.isOurs(secret);
  if (!isOurs || state.status === 'absent') return null;
  return { message: { state, revision }, recipientIndex: proof.indexIn(state) };
};

/**
 * The message that a mail is about, by the addresses and links of ours that it came to or quotes; those first that say
 * whose copy it was. Headers that anybody can write (Message-ID, Feedback-ID, To) prove nothing.
 * @returns null: nothing proves it.
 */
export const findReturned = async (
  context: Context,
  tokens: readonly ReturnToken[],
  quoted: ReturnedMail['quoted'] = { localParts: [], linkTokens: [] },
): Promise<Returned | null> => {
  const proofs = [...tokens.map(ofAddress), ...quotedProofs(quoted)].slice(0, PROOFS_MAX);
  for (const proof of proofs.toSorted((left, right) => Number(right.isOfOne) - Number(left.isOfOne))) {
    const returned = await prove(context, proof);
    if (returned !== null) return returned;
  }
  return null;
};
