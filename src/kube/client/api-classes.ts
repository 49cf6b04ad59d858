/**
 * Gives the API classes of client-node shared connections and a deadline, for the sandbox, benchmarks and scenarios.
 *
 * The operator and its commands use their own client (client.ts) instead. With the API classes every call opens a new connection
 * with a TLS handshake, the informer ends at the first 500, and nothing has a deadline.
 */
import { KubeConfig, type RequestContext } from '@kubernetes/client-node';
import { Agent } from 'undici';

/** The API class for any group serves the core group too. The core group has an empty name, and its paths begin with `/api`. */
const [emptyGroup, coreGroup] = ['/apis//', '/api/'];

/** A KubeConfig whose calls share connections and have a deadline. */
export class ConnectedConfig extends KubeConfig {
  readonly #agent: Agent;
  readonly #answerMs: number;

  /**
   * `ca` is the certificate of the API server's authority; undefined if the system trusts that anyway. `answerMs` is the
   * deadline of a call.
   */
  constructor(ca: string | undefined, answerMs: number) {
    super();
    this.#agent = new Agent({ connections: 16, connect: ca === undefined ? {} : { ca } });
    this.#answerMs = answerMs;
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    context.setUrl(context.getUrl().replace(emptyGroup, coreGroup));
    context.setDispatcher(this.#agent);
    context.setSignal(AbortSignal.timeout(this.#answerMs));
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
