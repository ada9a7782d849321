import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';

/** A software authenticator and the browser in front of it. They behave correctly, or as a test requests. */

const sha256 = (text: string | Uint8Array): Buffer => createHash('sha256').update(text).digest();
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

/** WebAuthn §6.1. */
const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

export interface Circumstances {
  readonly challenge: string;
  /** Default: the service's own origin. */
  readonly origin?: string;
  readonly rpId?: string;
  /** Default: true. */
  readonly isVerified?: boolean;
  /** Number of signatures so far. Default: 0, which means that it does not count. */
  readonly counter?: number;
  /** Default: the correct type. */
  readonly type?: string;
  /** Id that the browser reports for a new passkey. Default: the one that the authenticator signed. */
  readonly reportedId?: string;
  /** Default: `none`. */
  readonly format?: string;
}

const clientDataOf = ({ challenge, origin = 'http://localhost:3000' }: Circumstances, type: string): Buffer =>
  Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));

const headOf = ({ rpId = 'localhost', isVerified = true, counter = 0 }: Circumstances, flags: number): Buffer => {
  const head = Buffer.alloc(37);
  head.set(sha256(rpId));
  head[32] = flags | USER_PRESENT | (isVerified ? USER_VERIFIED : 0);
  head.writeUInt32BE(counter, 33);
  return head;
};

const coseOf = (publicKey: KeyObject): Uint8Array => {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const parts: readonly (readonly [number, number | Uint8Array])[] = [
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, new Uint8Array(Buffer.from(x, 'base64url'))],
    [-3, new Uint8Array(Buffer.from(y, 'base64url'))],
  ];
  return isoCBOR.encode(new Map(parts));
};

export const createAuthenticator = (memberId: string) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(16);
  return {
    /** Body for `POST /v1/passkeys`. */
    register: (made: Circumstances) => {
      const length = Buffer.from([0, id.length]);
      const authData = Buffer.concat([headOf(made, HAS_CREDENTIAL), Buffer.alloc(16), length, id, coseOf(publicKey)]);
      const parts: readonly (readonly [string, string | Uint8Array | Map<string, string | Uint8Array[]>])[] = [
        ['fmt', made.format ?? 'none'],
        ['attStmt', made.format === undefined ? new Map() : new Map([['x5c', [new Uint8Array(3)]]])],
        ['authData', new Uint8Array(authData)],
      ];
      return {
        credential_id: made.reportedId ?? text(id),
        client_data: text(clientDataOf(made, made.type ?? 'webauthn.create')),
        attestation_object: text(isoCBOR.encode(new Map(parts))),
      };
    },
    /** `passkey` in the body for `POST /v1/session`. */
    answer: (made: Circumstances) => {
      const clientData = clientDataOf(made, made.type ?? 'webauthn.get');
      const authData = headOf(made, 0);
      const signature = sign('sha256', Buffer.concat([authData, sha256(clientData)]), privateKey);
      return {
        credential_id: text(id),
        client_data: text(clientData),
        authenticator_data: text(authData),
        signature: text(signature),
        user_handle: text(Buffer.from(memberId)),
      };
    },
  };
};
