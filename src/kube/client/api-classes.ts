/**
 * The API classes of client-node with what they leave out: shared connections, and a deadline.
 *
 * The operator itself uses a client of its own (transport.ts): every call of an API class opens a connection of its own, with a
 * TLS handshake (1,000 creates, 1,000 connections), its informer ends at the first answer of 500, and neither has a deadline.
 */
import { KubeConfig, type RequestContext } from '@kubernetes/client-node';
import { Agent } from 'undici';

/** A configuration for many calls: they share connections, and each has a deadline. */
export class ConnectedConfig extends KubeConfig {
  readonly #agent: Agent;
  readonly #answerMs: number;

  /** The authority of the server, where it is not one that everybody knows. */
  constructor(ca: string | undefined, answerMs: number) {
    super();
    this.#agent = new Agent({ connections: 16, connect: ca === undefined ? {} : { ca } });
    this.#answerMs = answerMs;
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    context.setDispatcher(this.#agent);
    context.setSignal(AbortSignal.timeout(this.#answerMs));
  }

  /** Lets go of all connections. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
