import { z } from 'zod';

/** Roles of members; `member.ts` defines their powers. */
export const ROLES = ['owner', 'developer', 'analyst', 'auditor'] as const;
export const roleSchema = z.enum(ROLES);
export type Role = z.infer<typeof roleSchema>;

/** Roles that cannot see contents of mail unless an owner allows it. */
export const MASKED_ROLES = ['analyst', 'auditor'] as const satisfies readonly Role[];
export const maskedRoleSchema = z.enum(MASKED_ROLES);
export type MaskedRole = z.infer<typeof maskedRoleSchema>;

/**
 * 16 bits, so that thousands of IPv4 networks share a mark. Higher: the mark identifies a network to anyone with the
 * service's key. Lower: unrelated networks are counted together.
 */
export const NETWORK_MARK_CHARACTERS = 4;

/** All members of an organization share a stream, so that concurrent removals of owners conflict. */
export const memberEvents = {
  MemberInvited: z.object({
    memberId: z.string(),
    /** Id of the content with name and e-mail address. */
    contactId: z.string(),
    role: roleSchema,
  }),
  /** Earlier links stay valid, up to the limits in `member.ts`. */
  SignInLinkCreated: z.object({
    memberId: z.string(),
    /** SHA-256 of the token, in hex. The token itself is not stored. */
    linkHash: z.string().length(64),
    expiresAt: z.string(),
    /**
     * Present if the service mailed the link, which anyone who knows the address can request. Absent: it was shown to a
     * person.
     */
    mailed: z.literal(true).optional(),
    /**
     * Mark of the network that requested a mailed link. It counts requests and is too short to identify the network.
     */
    network: z.string().length(NETWORK_MARK_CHARACTERS).optional(),
  }),
  /** The member accepted the invitation. All other links of the member end. */
  MemberJoined: z.object({
    memberId: z.string(),
    /** SHA-256 of the accepting link, in hex. Absent if the invitation was accepted without one. */
    linkHash: z.string().length(64).optional(),
  }),
  MemberRoleChanged: z.object({ memberId: z.string(), role: roleSchema }),
  MemberRemoved: z.object({ memberId: z.string() }),
  /** The member may read the health of the whole service. Only the command line grants and withdraws this. */
  OperatorGranted: z.object({ memberId: z.string() }),
  OperatorWithdrawn: z.object({ memberId: z.string() }),
  PasskeyAdded: z.object({
    memberId: z.string(),
    passkeyId: z.string(),
    /** The authenticator's id for the credential, base64url. */
    credentialId: z.string(),
    /** COSE key (RFC 9052 §7), base64url. */
    publicKey: z.string(),
    /** Number of signatures so far. Always 0 if the authenticator does not count. */
    counter: z.number().int(),
    /** True if the passkey is stored on several devices. */
    isSynced: z.boolean(),
    /**
     * Added without reauthentication: the member's first passkey, within an hour of signing in by an operator's link.
     */
    withoutPresence: z.literal(true).optional(),
  }),
  /** Only from authenticators that count: a lower counter reveals a copy (WebAuthn §6.1.1). */
  PasskeyCounted: z.object({ memberId: z.string(), passkeyId: z.string(), counter: z.number().int() }),
  PasskeyRemoved: z.object({ memberId: z.string(), passkeyId: z.string() }),
};

/** Evidence of a person's identity. */
const proofSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('link'),
    linkHash: z.string().length(64),
    /**
     * Present if the first start or the command line printed the link. Absent: it was mailed, or created through the
     * API.
     */
    operator: z.literal(true).optional(),
  }),
  z.object({
    kind: z.literal('passkey'),
    passkeyId: z.string(),
    /** SHA-256 of the signed challenge, in hex. */
    challengeHash: z.string().length(64),
  }),
  z.object({
    kind: z.literal('oidc'),
    /** Issuer that verified the member's address. */
    issuer: z.string(),
    /** SHA-256 of the transaction's state, in hex. */
    transactionHash: z.string().length(64),
  }),
]);
export type Proof = Readonly<z.infer<typeof proofSchema>>;

/** Each session has its own stream, separate from that of the members. */
export const sessionEvents = {
  SessionStarted: z.object({
    sessionId: z.string(),
    memberId: z.string(),
    /** SHA-256 of the cookie value, in hex. The value itself is not stored. */
    secretHash: z.string().length(64),
    proof: proofSchema,
    /** ISO 8601. A session that is idle for too long ends earlier. */
    expiresAt: z.string(),
  }),
  SessionEnded: z.object({ sessionId: z.string() }),
  /**
   * The member reauthenticated. The event is in the stream of the session that the proof would have started, so that
   * each proof can be used only once.
   */
  PresenceProven: z.object({ sessionId: z.string(), memberId: z.string(), proof: proofSchema }),
};
