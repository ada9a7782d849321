/** PORT: outbound requests to witnesses of checkpoints. Adapter: `adapters/witnesses/http`. */
export interface Witnesses {
  /** Sends one POST of plain text: no redirects, bounded in time and in bytes read. @throws {WitnessUnreachable} */
  post(url: string, body: string, signal: AbortSignal): Promise<WitnessAnswer>;
  close(): Promise<void>;
}

export interface WitnessAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** There was no complete response in time. */
export class WitnessUnreachable extends Error {
  override readonly name = 'WitnessUnreachable';
}
