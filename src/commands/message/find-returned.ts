import type { InboundReport } from '../../domain/bounce/report.ts';
import { type ExistingMessage, type Message, message } from '../../domain/message/message.ts';
import { isLinkToken, readLinkToken } from '../../domain/message/recipient-link.ts';
import { indexesOf, isReturnPath, type ReturnToken, readReturnPath } from '../../domain/message/return-path.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import { messageStream } from '../../domain/streams.ts';
import type { CommandContext } from '../context.ts';
import { type Loaded, load } from '../execute.ts';
import { organizationSecret } from '../organization.ts';

/** Stands in where there is no message: secrets in use are in memory as well, so a guess costs the same. */
const NO_SECRET = new Uint8Array(32);

/** The secret that addresses and links of a message are made with; one that nobody uses where there is no message. */
export const secretOfMessage = async (secrets: Secrets, state: Message): Promise<Uint8Array> =>
  state.status === 'absent' ? NO_SECRET : organizationSecret(secrets, state.organizationId);

type Context = Pick<CommandContext, 'store' | 'secrets'>;

/** A message that came back, proved to be ours. */
export interface Returned {
  readonly message: Loaded<ExistingMessage>;
  /** Places of those who had this copy: it is about one of them. */
  readonly places: readonly number[];
  /** No other recipient can have caused it: the copy was one recipient's, or the reporter knows the envelope id. */
  readonly isVouched: boolean;
}

/** Something that only we can have made, if its HMAC is right. */
interface Proof {
  readonly messageId: string;
  /** How well it says whose copy it is of: 0, of one. */
  readonly breadth: 0 | 1 | 2;
  isOurs(secret: Uint8Array): boolean;
  placesIn(state: ExistingMessage): readonly number[];
  /** That it was in a server's hands, by what the report names the envelope by. */
  isEnvelope(secret: Uint8Array, id: string): boolean;
}

/** A message quotes two or three of them; each costs a read of the log. */
const PROOFS_MAX = 5;

const breadthOf = ({ recipientIndex, sharesDomain }: ReturnToken): Proof['breadth'] => {
  if (recipientIndex === null) return 2;
  return sharesDomain === true ? 1 : 0;
};

const ofAddress = (token: ReturnToken): Proof => ({
  messageId: token.messageId,
  breadth: breadthOf(token),
  isOurs: (secret) => isReturnPath(secret, token),
  placesIn: ({ recipients }) => indexesOf(token, recipients),
  // Of the very same copy: who had another was told of that one's envelope.
  isEnvelope: (secret, id) => {
    const told = readReturnPath(id);
    return told !== null && isReturnPath(secret, { ...token, purpose: 'envelope', mac: told.mac });
  },
});

const ofLink = (text: string): readonly Proof[] => {
  const token = readLinkToken(text);
  if (token === null) return [];
  const placesIn = ({ recipients }: ExistingMessage) =>
    [...recipients.keys()].filter((place) => recipients[place]?.id === token.recipientId);
  const isOurs = (secret: Uint8Array) => isLinkToken(secret, 'unsubscribe', token);
  return [{ messageId: token.messageId, breadth: 0, isOurs, placesIn, isEnvelope: () => false }];
};

const quotedProofs = (quoted: InboundReport['quoted']): readonly Proof[] => [
  ...quoted.localParts.flatMap((localPart) => {
    const token = readReturnPath(localPart);
    return token === null ? [] : [ofAddress(token)];
  }),
  ...quoted.linkTokens.flatMap(ofLink),
];

/** What is known of a message that an address or a link names, where that was made with its organization's secret. */
const prove = async (
  { store, secrets }: Context,
  proof: Proof,
  envelopeId: string | null,
): Promise<Returned | null> => {
  const { state, revision }: Loaded<Message> = await load(store, message, messageStream(proof.messageId));
  const secret = await secretOfMessage(secrets, state);
  const isOurs = proof.isOurs(secret);
  if (!isOurs || state.status === 'absent') return null;
  const places = proof.placesIn(state);
  const isVouched = places.length === 1 || (envelopeId !== null && proof.isEnvelope(secret, envelopeId));
  return { message: { state, revision }, places, isVouched };
};

/**
 * The message that a mail is about, by the addresses and links of ours that it came to or quotes; those first that say
 * whose copy it was. Headers that anybody can write (Message-ID, Feedback-ID, To) prove nothing.
 * @returns null: nothing proves it.
 */
export const findReturned = async (
  context: Context,
  tokens: readonly ReturnToken[],
  { quoted, envelopeId }: Partial<Pick<InboundReport, 'quoted' | 'envelopeId'>> = {},
): Promise<Returned | null> => {
  const all = [...tokens.map(ofAddress), ...(quoted === undefined ? [] : quotedProofs(quoted))];
  for (const proof of all.slice(0, PROOFS_MAX).toSorted((left, right) => left.breadth - right.breadth)) {
    const returned = await prove(context, proof, envelopeId ?? null);
    if (returned !== null) return returned;
  }
  return null;
};
