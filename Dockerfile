# The course with all that a class server needs: docs/class_server.md says how to run it.
FROM python:3.11-slim-bookworm
RUN apt-get update \
    && apt-get install -y --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/*
COPY . /srv/course
WORKDIR /srv/course
RUN make .venv/hub.done model && .venv/bin/autograder build && useradd --create-home prof
ENV PATH="/srv/course/.venv/bin:$PATH"
EXPOSE 8000
VOLUME ["/srv/class2026", "/srv/class2026_hub"]
CMD ["/bin/sh", "-c", "[ -e /srv/class2026/nbgrader_config.py ] || autograder class /srv/class2026; chown -R prof /srv/class2026; exec autograder hub /srv/class2026 --instructor prof --accounts --host 0.0.0.0"]
