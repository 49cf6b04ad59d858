/**
 * The requests that only this machine may send: those to the control API and to the page. A website could point its own host name
 * at 127.0.0.1 (DNS rebinding), so the Host header must be a loopback address.
 */
import { answered, type Answered, type HttpRequest } from './exchange.ts';
import { RequestRefusal } from './refusal.ts';

/**
 * Fails with 403 if the Host header of a request is not a loopback address, or if a web page of another origin sent the
 * request.
 */
export function requireLoopback(request: HttpRequest): void {
  const host = request.headers['host'] ?? '';
  const name = host.replace(/:\d+$/, '').toLowerCase();
  if (name !== 'localhost' && name !== '[::1]' && !/^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name))
    throw new RequestRefusal(403, 'the control API answers only requests whose Host header is a loopback address');
  const origin = request.headers['origin'];
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`)
    throw new RequestRefusal(403, 'web pages of another origin get no answer');
}

/** Builds a response with a JSON body. */
export function json(status: number, body: unknown): Answered {
  return answered(status, JSON.stringify(body), { 'content-type': 'application/json' });
}

/** Builds the error response for a refused request. */
export function refused(refusal: RequestRefusal): Answered {
  const answer = json(refusal.status, { error: refusal.message, ...refusal.kept });
  return { ...answer, headers: { ...answer.headers, ...refusal.headers } };
}
