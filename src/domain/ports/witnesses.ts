/** PORT: the way out to witnesses of checkpoints. Adapter: `adapters/witnesses/http`. */
export interface Witnesses {
  /** One POST of plain text: no redirects, bounded in time and in what is read. @throws {WitnessUnreachable} */
  post(url: string, body: string, signal: AbortSignal): Promise<WitnessAnswer>;
  close(): Promise<void>;
}

export interface WitnessAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** There was no whole answer in time. */
export class WitnessUnreachable extends Error {
  override readonly name = 'WitnessUnreachable';
}
