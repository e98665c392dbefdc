"""Puts an agent socket on a loopback port, for clients that cannot speak over Unix sockets.

usage: agent_bridge.py SOCKET
Checks in first and prints one line, `PORT TOKEN`: the token belongs to this process, which is the
one that outcalld sees.
"""

import asyncio
import http.client
import json
import socket
import sys


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("outcall")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def check_in(path):
    connection = UnixConnection(path)
    connection.request("POST", "/v1/checkin", "{}", {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    return answer["data"]["session_token"]


async def pass_on(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def main(path):
    async def serve(reader, writer):
        try:
            upstream_reader, upstream_writer = await asyncio.open_unix_connection(path)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pass_on(reader, upstream_writer), pass_on(upstream_reader, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(port, check_in(path), flush=True)
    await server.serve_forever()


asyncio.run(main(sys.argv[1]))
