import { z } from 'zod';

/** What a member may do; `member.ts` says what each comes to. */
export const ROLES = ['owner', 'developer', 'analyst', 'auditor'] as const;
export const roleSchema = z.enum(ROLES);
export type Role = z.infer<typeof roleSchema>;

/** Roles that see no contents of mail unless an owner allows it. */
export const MASKED_ROLES = ['analyst', 'auditor'] as const satisfies readonly Role[];
export const maskedRoleSchema = z.enum(MASKED_ROLES);
export type MaskedRole = z.infer<typeof maskedRoleSchema>;

/**
 * 16 bits: thousands of IPv4 networks share a mark. Longer would tell who asked to those who have the service's key; shorter
 * counts strangers together.
 */
export const NETWORK_MARK_CHARACTERS = 4;

/** In one stream for each organization: whoever takes away an owner meets all others there who do the same. */
export const memberEvents = {
  MemberInvited: z.object({
    memberId: z.string(),
    /** The content that holds name and e-mail address. */
    contactId: z.string(),
    role: roleSchema,
  }),
  /** Ends no earlier link, up to the limits in `member.ts`. */
  SignInLinkCreated: z.object({
    memberId: z.string(),
    /** SHA-256 of the token, hex; the token itself is nowhere. */
    linkHash: z.string().length(64),
    expiresAt: z.string(),
    /** The service mailed it to the member, at the request of whoever knows the address. Absent: it was shown to a person. */
    mailed: z.literal(true).optional(),
    /** Mark of the network that asked for a mailed link: it counts requests, and is too short to find the network by. */
    network: z.string().length(NETWORK_MARK_CHARACTERS).optional(),
  }),
  /** Accepted the invitation. It ends all other links of the member. */
  MemberJoined: z.object({
    memberId: z.string(),
    /** SHA-256 of the link that accepted it, hex. Absent: it was none. */
    linkHash: z.string().length(64).optional(),
  }),
  MemberRoleChanged: z.object({ memberId: z.string(), role: roleSchema }),
  MemberRemoved: z.object({ memberId: z.string() }),
  /** The member may read the health of the whole service. The command line alone grants and withdraws it. */
  OperatorGranted: z.object({ memberId: z.string() }),
  OperatorWithdrawn: z.object({ memberId: z.string() }),
  PasskeyAdded: z.object({
    memberId: z.string(),
    passkeyId: z.string(),
    /** As the authenticator calls it, base64url. */
    credentialId: z.string(),
    /** COSE key (RFC 9052 §7), base64url. */
    publicKey: z.string(),
    /** Signatures so far; 0 for ever: the authenticator does not count. */
    counter: z.number().int(),
    /** It is kept on more than one device. */
    isSynced: z.boolean(),
    /** The member was not present: it is their first, within an hour of signing in by a link of the operator. */
    withoutPresence: z.literal(true).optional(),
  }),
  /** Of authenticators that count alone: a copy of one is noticed by its lower counter (WebAuthn §6.1.1). */
  PasskeyCounted: z.object({ memberId: z.string(), passkeyId: z.string(), counter: z.number().int() }),
  PasskeyRemoved: z.object({ memberId: z.string(), passkeyId: z.string() }),
};

/** By what a person proved who they are. */
const proofSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('link'),
    linkHash: z.string().length(64),
    /** The first start or the command line printed the link. Absent: it was mailed, or made through the API. */
    operator: z.literal(true).optional(),
  }),
  z.object({
    kind: z.literal('passkey'),
    passkeyId: z.string(),
    /** SHA-256 of the challenge that was signed, hex. */
    challengeHash: z.string().length(64),
  }),
  z.object({
    kind: z.literal('oidc'),
    /** That verified their address. */
    issuer: z.string(),
    /** SHA-256 of the state of the transaction, hex. */
    transactionHash: z.string().length(64),
  }),
]);
export type Proof = Readonly<z.infer<typeof proofSchema>>;

/** Beside the stream of members: each session has its own. */
export const sessionEvents = {
  SessionStarted: z.object({
    sessionId: z.string(),
    memberId: z.string(),
    /** SHA-256 of the value in the cookie, hex; the value itself is nowhere. */
    secretHash: z.string().length(64),
    proof: proofSchema,
    /** ISO 8601; earlier if it is not used for long. */
    expiresAt: z.string(),
  }),
  SessionEnded: z.object({ sessionId: z.string() }),
  /**
   * The member has proved again who they are. In the stream of the session that the proof would have started: a proof does
   * one thing, once.
   */
  PresenceProven: z.object({ sessionId: z.string(), memberId: z.string(), proof: proofSchema }),
};
